import { openCitation } from "../actions";
import type { AnswerPart } from "../types";

/** The questions that the question was split into. */
export function Parts({ parts, run }: { parts: AnswerPart[]; run: string }) {
  if (parts.length === 0) return null;
  return (
    <section className="parts">
      <h2>Asked in parts</h2>
      <ol>
        {parts.map((part) => (
          <li key={part.question}>
            {part.question} {part.short ? <b>{part.short}</b> : <i>no answer of its own</i>}
            {part.citations.map((number) => (
              <button
                key={number}
                type="button"
                className="chip"
                aria-label={`Source ${number}`}
                onClick={() => openCitation(run, number)}
              >
                {number}
              </button>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}
