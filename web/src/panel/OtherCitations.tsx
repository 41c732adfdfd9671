import { openCitation } from "../actions";
import type { RunView } from "../run";
import type { SourceTarget } from "../state";

/** What else the answer takes from the same document. */
export function OtherCitations({ source, run }: { source: SourceTarget; run: RunView | null }) {
  const answer = source.run === null || source.run === run?.id ? run?.answer : null;
  const others = (answer?.citations ?? []).filter(
    ({ document, number }) => document === source.document && number !== source.number,
  );
  if (!answer || others.length === 0) return null;
  return (
    <section className="others" aria-label="Other quotes of this source">
      <h3>Also quoted from here</h3>
      <ul>
        {others.map((citation) => (
          <li key={citation.number}>
            <button type="button" onClick={() => openCitation(answer.run, citation.number)}>
              <b className="cited">{citation.number}</b>
              <span>{`“${citation.quote}”`}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
