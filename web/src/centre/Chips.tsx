import { type KeyboardEvent, useId, useRef, useState } from "react";
import { openCitation } from "../actions";
import { useSelect } from "../store";
import type { Answer, Citation, Claim } from "../types";
import { place, shortened } from "./telling";

const LONGEST_QUOTE = 320;

/** What stands behind a claim: a chip for each citation, or a word where it was computed. */
export function Chips({ claim, answer }: { claim: Claim; answer: Answer }) {
  const cited = claim.citations.flatMap(
    (number) => answer.citations.find((one) => one.number === number) ?? [],
  );
  if (cited.length > 0) {
    return cited.map((citation) => (
      <Chip key={citation.number} citation={citation} run={answer.run} />
    ));
  }
  return answer.analysis?.grounded && answer.citations.length > 0 ? (
    <ComputedChip run={answer.run} />
  ) : null;
}

function Chip({ citation, run }: { citation: Citation; run: string }) {
  const current = useSelect(
    ({ source }) => source?.run === run && source.number === citation.number,
  );
  const [shown, setShown] = useState(false);
  const chip = useRef<HTMLButtonElement>(null);
  const opened = useRef(false);
  const id = useId();
  const hideOnEscape = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !shown) return;
    event.preventDefault();
    setShown(false);
  };
  return (
    <span
      className="chip-place"
      onMouseEnter={() => setShown(true)}
      onMouseLeave={() => setShown(false)}
    >
      <button
        ref={chip}
        type="button"
        className="chip"
        data-citation={citation.number}
        aria-label={`Source ${citation.number}: ${place(citation)}`}
        aria-current={current || undefined}
        aria-describedby={shown ? id : undefined}
        onFocus={(event) => {
          // Who comes back from the source has just read the quote.
          setShown(!opened.current && event.currentTarget.matches(":focus-visible"));
          opened.current = false;
        }}
        onBlur={() => setShown(false)}
        onKeyDown={hideOnEscape}
        onClick={() => {
          setShown(false);
          opened.current = true;
          openCitation(run, citation.number);
        }}
      >
        {citation.number}
      </button>
      {shown && <Quote id={id} citation={citation} beside={chip.current} />}
    </span>
  );
}

const WIDTH = 320;
const EDGE = 12;
const ROOM_ABOVE = 240;

/** Shown near the chip and inside the window, wherever the chip stands. */
function Quote({
  id,
  citation,
  beside,
}: {
  id: string;
  citation: Citation;
  beside: HTMLElement | null;
}) {
  if (!beside) return null;
  const chip = beside.getBoundingClientRect();
  const width = Math.min(WIDTH, window.innerWidth - 2 * EDGE);
  const left = Math.max(EDGE, Math.min(chip.left - 24, window.innerWidth - width - EDGE));
  const below = chip.top < ROOM_ABOVE; // above it covers nothing that can be pressed
  const vertical = below ? { top: chip.bottom } : { bottom: window.innerHeight - chip.top };
  return (
    <span id={id} role="tooltip" className="quote-tip" style={{ left, width, ...vertical }}>
      <span className="quote-tip-body">
        <q>{shortened(citation.quote, LONGEST_QUOTE)}</q>
        <small>{place(citation)}</small>
      </span>
    </span>
  );
}

function ComputedChip({ run }: { run: string }) {
  const show = () => {
    const part = document.getElementById(`analysis ${run}`);
    part?.scrollIntoView({ block: "nearest" });
    part?.focus({ preventScroll: true });
  };
  return (
    <button
      type="button"
      className="chip"
      aria-label="Computed from your tables: show how"
      onClick={show}
    >
      table
    </button>
  );
}
