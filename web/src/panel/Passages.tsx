import { openCitation, openPassage } from "../actions";
import { pageOf } from "../parts/words";
import type { RunView } from "../run";
import type { Citation, SeenPassage } from "../types";
import { citationOf, keptAndDropped, scoresOf } from "./describe";

/** Every passage that was looked at: kept or dropped, and why. */
export function Passages({ run }: { run: RunView }) {
  const [kept, dropped] = keptAndDropped(run.passages);
  const citations = run.answer?.citations ?? [];
  if (run.passages.length === 0) return null;
  return (
    <section className="passages" aria-label="Passages">
      <h3>{`Passages: kept ${kept.length} of ${run.passages.length}`}</h3>
      <PassageList passages={kept} citations={citations} run={run.id} />
      {dropped.length > 0 && (
        <details>
          <summary>{`${dropped.length} dropped, and why`}</summary>
          <PassageList passages={dropped} citations={citations} run={run.id} />
        </details>
      )}
    </section>
  );
}

interface ListProps {
  passages: readonly SeenPassage[];
  citations: readonly Citation[];
  run: string | null;
}

function PassageList({ passages, citations, run }: ListProps) {
  return (
    <ul>
      {passages.map((passage) => (
        <li key={passage.id} data-kept={passage.kept}>
          <PassageLine passage={passage} citation={citationOf(passage, citations)} run={run} />
        </li>
      ))}
    </ul>
  );
}

interface LineProps {
  passage: SeenPassage;
  citation: Citation | null;
  run: string | null;
}

function PassageLine({ passage, citation, run }: LineProps) {
  const open = () =>
    citation && run ? openCitation(run, citation.number) : openPassage(passage, run);
  const place = [passage.origin === "web" ? "on the web" : "", pageOf(passage.page)];
  return (
    <button type="button" onClick={open}>
      <span className="passage-title">
        {citation && <b className="cited">{citation.number}</b>} {passage.title}
      </span>
      <span className="passage-place">{place.filter(Boolean).join(", ")}</span>
      <span className="why">
        {passage.kept ? "Kept" : "Dropped"}
        {passage.why && `: ${passage.why}`}
      </span>
      <span className="numbers">{scoresOf(passage)}</span>
    </button>
  );
}
