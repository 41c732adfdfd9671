import { useEffect, useReducer, useRef, useState } from "react";
import { refreshThreads, removeThread, searchThreads } from "../actions";
import { closeSheet } from "../parts/Sheet";
import { ago, count } from "../parts/words";
import { runRoute } from "../routes";
import { useSelect } from "../store";
import type { ThreadSummary } from "../types";
import { Confirm } from "./Confirm";
import { focusNeighbour } from "./focusNeighbour";
import { stateWord } from "./words";

/** What was asked of this library, thread by thread, the latest first. */
export function Threads() {
  const threads = useSelect((state) => state.threads);
  const total = useSelect((state) => state.totalThreads);
  const search = useSelect((state) => state.search);
  const current = useSelect((state) => state.run?.id);
  useMinutes();
  if (!threads) return null;
  const left = total - threads.length;
  return (
    <section aria-label="Asked before">
      {(total > 1 || search !== "") && (
        <input
          className="filter"
          type="search"
          aria-label="Search what was asked"
          placeholder="Search"
          value={search}
          onChange={(event) => searchThreads(event.target.value)}
        />
      )}
      {threads.length === 0 && (
        <p className="library-empty">
          {search ? "Nothing with these words was asked." : "Nothing was asked here yet."}
        </p>
      )}
      <ul className="asked">
        {threads.map((thread) => (
          <Asked
            key={thread.id}
            thread={thread}
            current={thread.runs.some((run) => run.id === current)}
          />
        ))}
      </ul>
      {left > 0 && (
        <button
          type="button"
          className="quiet asked-more"
          onClick={() => void refreshThreads(true)}
        >
          {`Show ${left} more`}
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

function Asked({ thread, current }: { thread: ThreadSummary; current: boolean }) {
  const [asked, setAsked] = useState(false);
  const item = useRef<HTMLLIElement>(null);
  const [last] = thread.runs;
  if (!last) return null;
  const forget = () => {
    focusNeighbour(item.current, ".past");
    void removeThread(thread.id);
  };
  const several = thread.runs.length > 1 && count(thread.runs.length, "question");
  // Of several questions the last does not stand for all, unless it is still at work.
  const state = !several || ["queued", "running"].includes(last.status) ? stateWord(last) : null;
  const when = [several, ago(last.started), state].filter(Boolean).join(" · ");
  return (
    <li ref={item} data-run={last.id} data-status={last.status}>
      <a
        className="past"
        href={runRoute(last.id)}
        aria-current={current ? "page" : undefined}
        onClick={closeSheet}
      >
        <span className="past-question">{thread.title}</span>
        <small>{when}</small>
      </a>
      {asked ? (
        <Confirm yes="Delete" no="Keep" onYes={forget} onNo={() => setAsked(false)}>
          {several
            ? `Delete ${several} and their answers?`
            : "Delete this question and its answer?"}
        </Confirm>
      ) : (
        <button
          type="button"
          className="forget"
          aria-label={`Delete the question: ${thread.title}`}
          title="Delete"
          onClick={() => setAsked(true)}
        >
          <span aria-hidden="true">×</span>
        </button>
      )}
    </li>
  );
}
