import { useEffect, useState } from "react";
import { openPassage } from "../actions";
import * as api from "../api";
import { pageOf } from "../parts/words";
import { useSelect } from "../store";
import type { Answer, SeenPassage } from "../types";
import { ownWords, searched, shortened, whyNot, withoutHashes } from "./telling";

const NEAREST = 3;

/** No answer was given: why, what was searched, and what comes nearest. */
export function NoAnswer({ answer }: { answer: Answer }) {
  const nearest = distinct(answer.passages).slice(0, NEAREST);
  return (
    <section className="no-answer" data-status={answer.status} data-testid="no-answer">
      <h2>{whyNot(answer)}</h2>
      {ownWords(answer.text).map((words) => (
        <p key={words}>{words}</p>
      ))}
      {answer.status === "abstained" && <p className="soft">{searched(answer)}</p>}
      {answer.status !== "refused" && nearest.length > 0 && (
        <>
          <h3>The nearest passages</h3>
          <ul className="nearest">
            {nearest.map((passage) => (
              <Near key={passage.id} passage={passage} run={answer.run} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Near({ passage, run }: { passage: SeenPassage; run: string }) {
  const words = usePassageText(passage);
  return (
    <li>
      <button type="button" className="card" onClick={() => openPassage(passage, run)}>
        <b>{[passage.title, pageOf(passage.page)].filter(Boolean).join(", ")}</b>
        <span>{words || passage.why}</span>
      </button>
    </li>
  );
}

/** The beginning of a passage; empty until it is read, or where it is no longer there. */
function usePassageText({ id, text }: SeenPassage): string {
  const library = useSelect((state) => state.run?.library ?? state.library);
  const [words, setWords] = useState(text ?? "");
  useEffect(() => {
    if (text !== null) return;
    let gone = false;
    api.passage(library, id).then(
      (found) => gone || setWords(found.text),
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, [library, id, text]);
  return shortened(withoutHashes(words), 200);
}

/** Of one page the best passage stands for the others; a text without pages has no such places. */
function distinct(passages: SeenPassage[]): SeenPassage[] {
  const seen = new Set<string>();
  return passages.filter((passage) => {
    const place = passage.page === null ? passage.id : `${passage.document} ${passage.page}`;
    return !seen.has(place) && seen.add(place);
  });
}
