import { openPassage } from "../actions";
import { pageOf } from "../parts/words";
import type { Answer, SeenPassage } from "../types";
import { searched } from "./telling";

const HEADS: Record<string, string> = {
  abstained: "Your files do not hold the answer",
  refused: "This was not researched",
  failed: "No answer: something broke or ran out",
};
const NEAREST = 3;

/** No answer was given: why, what was searched, and what comes nearest. */
export function NoAnswer({ answer }: { answer: Answer }) {
  const nearest = distinct(answer.passages).slice(0, NEAREST);
  return (
    <section className="no-answer" data-status={answer.status} data-testid="no-answer">
      <h2>{HEADS[answer.status] ?? "No answer"}</h2>
      <p>{firstSentences(answer)}</p>
      {answer.status === "abstained" && <p className="soft">{searched(answer)}</p>}
      {answer.status !== "refused" && nearest.length > 0 && (
        <>
          <h3>The nearest passages</h3>
          <ul className="nearest">
            {nearest.map((passage) => (
              <li key={passage.id}>
                <button type="button" className="card" onClick={() => openPassage(passage)}>
                  <b>{passage.title}</b>
                  <span>{[pageOf(passage.page), passage.why].filter(Boolean).join(" · ")}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** The page lists the nearest passages itself: the sentence that names them is left out. */
function firstSentences(answer: Answer): string {
  return answer.text.replace(
    / Searched \d+ passages? of \d+ documents?; the nearest are in .*$/s,
    "",
  );
}

function distinct(passages: SeenPassage[]): SeenPassage[] {
  const seen = new Set<string>();
  return passages.filter((passage) => {
    const place = `${passage.document} ${passage.page}`;
    return !seen.has(place) && seen.add(place);
  });
}
