import { useEffect, useRef, useState } from "react";
import type { RunView } from "../run";
import { isLive } from "../run";
import { useSelect } from "../store";
import { doing, lastSaid, verdict } from "./telling";

/** Steps follow each other faster than they can be read out: so much time lies between two. */
const BETWEEN = 1200;

/** The page's one live region: what is done, politely, and that the answer is there. */
export function Announcer() {
  const words = useSelect((state) => (state.run ? announced(state.run) : ""));
  const [spoken, setSpoken] = useState("");
  const next = useRef(0);
  useEffect(() => {
    const speak = () => {
      next.current = Date.now() + BETWEEN;
      setSpoken(words);
    };
    const timer = setTimeout(speak, Math.max(0, next.current - Date.now()));
    return () => clearTimeout(timer);
  }, [words]);
  return (
    <div className="sr" role="status" aria-live="polite" data-testid="announcer">
      {spoken}
    </div>
  );
}

function announced(run: RunView): string {
  if (isLive(run)) return lastSaid(run) || doing(run);
  const { answer } = run;
  if (run.phase === "stopped") return "Stopped.";
  if (!answer) return run.problem ? `It went wrong: ${run.problem.message}` : "Interrupted.";
  if (answer.method === "catalogue") return answer.text;
  if (answer.claims.length === 0) return `No answer. ${answer.text}`;
  return `The answer is here. ${verdict(answer)}.`;
}
