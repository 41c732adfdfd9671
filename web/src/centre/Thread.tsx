import { type FormEvent, useState } from "react";
import { nameThread, removeThread, showMade } from "../actions";
import { threadUrl } from "../api";
import { Confirm } from "../library/Confirm";
import { useRemembered } from "../parts/useRemembered";
import type { RunView } from "../run";
import { useSelect } from "../store";
import { AnswerBody } from "./AnswerBody";
import { RunPage } from "./RunPage";
import { SourceCards } from "./SourceCards";

/** Questions that follow each other, one below the other; the last has the page to itself. */
export function Thread({ run }: { run: RunView }) {
  const earlier = useSelect((state) => state.earlier);
  const [first] = earlier;
  return (
    <>
      {first?.id && <ThreadHead key={first.id} id={first.id} question={first.question} />}
      {earlier.map((turn) => (
        <Earlier key={turn.id} turn={turn} />
      ))}
      <RunPage run={run} />
    </>
  );
}

/** An earlier question, with all that was said of it; a click on the question folds it. */
function Earlier({ turn }: { turn: RunView }) {
  const { answer, id } = turn;
  const [fold, setFold] = useRemembered<"open" | "folded">(`turn ${id}`, "open");
  return (
    <article id={`turn ${id}`} className="turn">
      <details
        open={fold === "open"}
        onToggle={(event) => setFold(event.currentTarget.open ? "open" : "folded")}
      >
        <summary>
          <h2>{turn.question}</h2>
        </summary>
        <SourceCards run={turn} />
        {answer ? <AnswerBody answer={answer} run={turn} /> : <p>It ended without an answer.</p>}
        {id && (
          <button type="button" className="link made-link" onClick={() => showMade(id)}>
            How this was made
          </button>
        )}
      </details>
    </article>
  );
}

type Doing = "naming" | "deleting" | null;

function ThreadHead({ id, question }: { id: string; question: string }) {
  const title = useSelect((state) => state.title) || question;
  const [doing, setDoing] = useState<Doing>(null);
  const done = () => setDoing(null);
  return (
    <header className="thread-head">
      {doing === "naming" && <Naming id={id} title={title} done={done} />}
      {doing === "deleting" && (
        <Confirm yes="Delete" no="Keep" onYes={() => void removeThread(id)} onNo={done}>
          Delete this thread, with every question and answer of it?
        </Confirm>
      )}
      {doing === null && (
        <>
          <p className="thread-title">{title}</p>
          <span className="more">
            <button type="button" className="link" onClick={() => setDoing("naming")}>
              Rename
            </button>
            <a className="link" href={threadUrl(id)} download>
              Export
            </a>
            <button type="button" className="link" onClick={() => setDoing("deleting")}>
              Delete
            </button>
          </span>
        </>
      )}
    </header>
  );
}

const LONGEST_TITLE = 200;

function Naming({ id, title, done }: { id: string; title: string; done: () => void }) {
  const [typed, setTyped] = useState(title);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await nameThread(id, typed.trim())) done();
  };
  return (
    <form className="naming" onSubmit={(event) => void submit(event)}>
      <input
        aria-label="Name of this thread"
        // biome-ignore lint/a11y/noAutofocus: a click asked for it
        autoFocus
        maxLength={LONGEST_TITLE}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          done();
        }}
      />
      <button type="submit" className="go">
        Save
      </button>
    </form>
  );
}
