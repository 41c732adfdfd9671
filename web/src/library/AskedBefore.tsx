import { useEffect, useId, useReducer, useRef, useState } from "react";
import { removeRun } from "../actions";
import { closeSheet } from "../parts/Sheet";
import { ago } from "../parts/words";
import { runRoute } from "../routes";
import { useSelect } from "../store";
import type { RunSummary } from "../types";
import { Confirm } from "./Confirm";
import { focusNeighbour } from "./focusNeighbour";
import { stateWord } from "./words";

const FIRST = 15;

/** The questions that were asked, the latest first. */
export function AskedBefore() {
  const runs = useSelect((state) => state.runs);
  const current = useSelect((state) => state.run?.id);
  const [all, setAll] = useState(false);
  const heading = useId();
  useMinutes();
  if (!runs || runs.length === 0) return null;
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Asked before</h2>
      <ul className="asked">
        {runs.slice(0, all ? undefined : FIRST).map((run) => (
          <Asked key={run.id} run={run} current={run.id === current} />
        ))}
      </ul>
      {!all && runs.length > FIRST && (
        <button type="button" className="quiet asked-more" onClick={() => setAll(true)}>
          {`Show ${runs.length - FIRST} more`}
        </button>
      )}
    </section>
  );
}

/** "5 minutes ago" must not stay so all day. */
function useMinutes(): void {
  const [, tick] = useReducer((minutes: number) => minutes + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, 60_000);
    return () => clearInterval(timer);
  }, []);
}

function Asked({ run, current }: { run: RunSummary; current: boolean }) {
  const [asked, setAsked] = useState(false);
  const item = useRef<HTMLLIElement>(null);
  const forget = () => {
    focusNeighbour(item.current, ".past");
    void removeRun(run.id);
  };
  const when = [ago(run.started), stateWord(run)].filter(Boolean).join(" · ");
  return (
    <li ref={item} data-run={run.id} data-status={run.status}>
      <a
        className="past"
        href={runRoute(run.id)}
        aria-current={current ? "page" : undefined}
        onClick={closeSheet}
      >
        <span className="past-question">{run.question}</span>
        <small>{when}</small>
      </a>
      {asked ? (
        <Confirm yes="Forget" no="Keep" onYes={forget} onNo={() => setAsked(false)}>
          Forget this question and its answer?
        </Confirm>
      ) : (
        <button
          type="button"
          className="forget"
          aria-label={`Forget the question: ${run.question}`}
          title="Forget"
          onClick={() => setAsked(true)}
        >
          <span aria-hidden="true">×</span>
        </button>
      )}
    </li>
  );
}
