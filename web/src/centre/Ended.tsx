import { ask, resumeRun } from "../actions";
import type { Problem } from "../api";
import { hintSentence, sentence } from "../parts/words";
import { home } from "../routes";
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
          : "This ended before it had an answer. The server may have stopped."}
      </p>
      <p className="lead soft">What was done is kept.</p>
      <div className="more">
        <button type="button" className="go" onClick={() => void resumeRun()}>
          Resume
        </button>
        <button type="button" className="pill" onClick={again}>
          Start over
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
  if (run.question === "") return <Unknown problem={problem} />;
  return (
    <section className="ended" role="alert">
      <p className="lead">{sentence(problem?.message ?? "it could not be asked")}</p>
      {problem?.hint && <p className="lead soft">{hintSentence(problem.hint)}</p>}
      <div className="more">
        <button type="button" className="go" onClick={again}>
          Ask again
        </button>
      </div>
    </section>
  );
}

/** An address that leads to no question: it was forgotten, or the address is not whole. */
function Unknown({ problem }: { problem: Problem | null }) {
  const forgotten = problem?.status === 404;
  return (
    <section className="ended" role="alert">
      <p className="lead">
        {forgotten
          ? "It was deleted, or it was asked of another server."
          : sentence(problem?.message ?? "it could not be read")}
      </p>
      <div className="more">
        <a className="go" href={home}>
          Ask a new question
        </a>
      </div>
    </section>
  );
}
