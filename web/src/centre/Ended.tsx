import { ask, resumeRun } from "../actions";
import { sentence } from "../parts/words";
import type { RunView } from "../run";

/** A run without an answer: what happened, and the one thing to do next. */
export function Ended({ run }: { run: RunView }) {
  const again = () => void ask(run.question, { workflow: run.workflow || null, after: run.after });
  if (run.phase === "lost") return <Lost run={run} again={again} />;
  const byPerson = run.phase === "stopped";
  return (
    <section className="ended">
      <p className="lead">
        {byPerson
          ? stopped(run)
          : "This ended before it had an answer: it was stopped, or the server was."}
      </p>
      <p className="lead soft">What was done is kept.</p>
      <div className="more">
        <button type="button" className="go" onClick={() => void resumeRun()}>
          Go on
        </button>
        <button type="button" className="pill" onClick={again}>
          Ask anew
        </button>
      </div>
    </section>
  );
}

/** As the server says it of a stop that a person asked for. */
const BY_PERSON = "it was stopped";

const stopped = (run: RunView): string => {
  const why = run.stoppedBecause ?? BY_PERSON;
  if (why !== BY_PERSON) return sentence(why);
  const after = run.steps.filter((step) => step.state === "done").length;
  return after > 0 ? `Stopped after ${after === 1 ? "one step" : `${after} steps`}.` : "Stopped.";
};

function Lost({ run, again }: { run: RunView; again: () => void }) {
  const { problem } = run;
  return (
    <section className="ended" role="alert">
      <p className="lead">{sentence(problem?.message ?? "it could not be asked")}</p>
      {problem?.hint && <p className="lead soft">{problem.hint}</p>}
      {run.question !== "" && (
        <div className="more">
          <button type="button" className="go" onClick={again}>
            Ask again
          </button>
        </div>
      )}
    </section>
  );
}
