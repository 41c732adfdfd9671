import { useId, useRef, useState } from "react";
import { attempt, judge, say } from "../actions";
import * as api from "../api";
import type { RunView } from "../run";
import type { Answer, Feedback, Verification } from "../types";
import { Checked } from "./Checked";
import { copyText } from "./clipboard";
import { savePage } from "./share";
import { isGeneralKnowledge } from "./telling";

interface Props {
  answer: Answer;
  run: RunView;
  askAnew: () => void;
}

/** Take it along, or have it looked at once more. */
export function AnswerActions({ answer, run, askAnew }: Props) {
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
        <Export answer={answer} />
        {stands && !isGeneralKnowledge(answer) && (
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
      <Judgement run={run} answered={stands} />
      <div role="status">{checked && <Checked found={checked} />}</div>
    </>
  );
}

const WHERE_ANSWERED: [Feedback, string][] = [
  ["right", "Right"],
  ["wrong", "Wrong"],
];
const WHERE_WITHHELD: [Feedback, string][] = [
  ["right", "Yes"],
  ["should_have_answered", "No, the files say it"],
];

/** What the person says of the answer: kept with its run. */
function Judgement({ run, answered }: { run: RunView; answered: boolean }) {
  return (
    <fieldset className="judgement">
      <legend>{answered ? "Was this right?" : "Was it right not to answer?"}</legend>
      {(answered ? WHERE_ANSWERED : WHERE_WITHHELD).map(([said, words]) => (
        <button
          key={said}
          type="button"
          className="pill"
          aria-pressed={run.feedback === said}
          onClick={() => void judge(run, said)}
        >
          {words}
        </button>
      ))}
    </fieldset>
  );
}

function Export({ answer }: { answer: Answer }) {
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
        <li>
          <button
            type="button"
            onClick={() => {
              setOpen(false);
              savePage(answer);
            }}
          >
            Web page, to share
          </button>
        </li>
        {files(answer).map(({ name, url }) => (
          <li key={url}>
            <a href={url} download onClick={() => setOpen(false)}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </span>
  );
}

/** A chart is exported as a page of its own, which needs no network. */
function files({ run, analysis }: Answer): { name: string; url: string }[] {
  const charts = (analysis?.figures ?? []).map((_, place, all) => ({
    name: all.length > 1 ? `Figure ${place + 1}, web page` : "Figure, web page",
    url: api.figureUrl(run, place),
  }));
  const words = [
    { name: "Markdown", url: api.exportUrl(run, "markdown") },
    { name: "JSON", url: api.exportUrl(run, "json") },
  ];
  return [...words, ...charts];
}
