import { useId, useRef, useState } from "react";
import { attempt, say } from "../actions";
import * as api from "../api";
import type { Answer, Verification } from "../types";
import { Checked } from "./Checked";
import { copyText } from "./clipboard";

const FORMATS = [
  ["markdown", "Markdown"],
  ["html", "Web page"],
  ["json", "JSON"],
] as const;

/** Take it along, or have it looked at once more. */
export function AnswerActions({ answer, askAnew }: { answer: Answer; askAnew: () => void }) {
  const [checked, setChecked] = useState<Verification | null>(null);
  const [checking, setChecking] = useState(false);
  const copy = () =>
    attempt(async () => {
      const copied = await copyText(await api.exportText(answer.run, "markdown"));
      if (copied) say("Copied, with its citations.");
      else say("The browser did not allow copying; Export gives you the same text.", true);
    });
  const check = async () => {
    setChecking(true);
    await attempt(async () => setChecked(await api.verifyRun(answer.run)));
    setChecking(false);
  };
  const stands = answer.claims.length > 0;
  return (
    <>
      <div className="more">
        {stands && (
          <button type="button" className="pill" onClick={() => void copy()}>
            Copy with citations
          </button>
        )}
        <Export run={answer.run} />
        {stands && (
          <button type="button" className="pill" disabled={checking} onClick={() => void check()}>
            {checking ? "Checking…" : "Check again"}
          </button>
        )}
        {!stands && answer.status === "failed" && (
          <button type="button" className="pill" onClick={askAnew}>
            Ask again
          </button>
        )}
      </div>
      <div role="status">{checked && <Checked answer={answer} found={checked} />}</div>
    </>
  );
}

function Export({ run }: { run: string }) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  return (
    <span
      className="menu-place"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.preventDefault();
        setOpen(false);
        button.current?.focus();
      }}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        className="pill"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        Export
      </button>
      <ul id={id} className="menu" hidden={!open}>
        {FORMATS.map(([format, name]) => (
          <li key={format}>
            <a href={api.exportUrl(run, format)} download onClick={() => setOpen(false)}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </span>
  );
}
