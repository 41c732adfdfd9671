import { stopRun } from "../actions";
import type { RunView } from "../run";
import { doing, lastSaid } from "./telling";
import { draftParts } from "./text";

/** While it runs: one sentence, Stop, and the draft as it is written. */
export function Working({ run }: { run: RunView }) {
  return (
    <>
      <div className="working" data-testid="working">
        <span className="pulse" aria-hidden="true" />
        <p>
          {doing(run)}
          <small>{lastSaid(run)}</small>
        </p>
        <button
          type="button"
          className="pill stop"
          disabled={run.phase === "asking" || run.phase === "stopping"}
          onClick={() => void stopRun()}
        >
          Stop
        </button>
      </div>
      <Draft run={run} />
    </>
  );
}

function Draft({ run }: { run: RunView }) {
  if (run.draft === "") {
    return run.redraftedBecause === null ? null : (
      <p className="remark">The draft was withdrawn: {run.redraftedBecause}</p>
    );
  }
  return (
    <div className="text draft" data-testid="draft">
      <p>
        {draftParts(run.draft).map((part, place) =>
          part.mark === null ? (
            part.text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: a draft only grows at its end
            <span key={place} className="chip">
              {part.mark}
            </span>
          ),
        )}
      </p>
      <p className="remark">A draft: it has not been checked yet.</p>
    </div>
  );
}
