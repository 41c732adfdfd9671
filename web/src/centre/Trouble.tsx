import { begin } from "../actions";
import type { Problem } from "../api";
import { hintSentence } from "../parts/words";

/** The page cannot work: what happened, and the one thing to do. */
export function Trouble({ problem }: { problem: Problem }) {
  return (
    <article role="alert">
      <h1>{problem.title}</h1>
      <p className="lead">{problem.detail}</p>
      {problem.hint && <p className="lead soft">{hintSentence(problem.hint)}</p>}
      <div className="more">
        <button type="button" className="pill" onClick={() => void begin()}>
          Try again
        </button>
      </div>
    </article>
  );
}
