import { useId, useRef, useState } from "react";
import { ask } from "../actions";
import { isLive, type RunView } from "../run";
import { useSelect } from "../store";
import { route } from "./telling";
import { automaticFirst, workflowName } from "./workflows";

/** Which workflow answers and why; one click asks the same in another way. */
export function RouteLine({ run }: { run: RunView }) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div
      className="route"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.preventDefault();
        close();
      }}
    >
      <p>
        <Why run={run} />{" "}
        {!isLive(run) && run.question !== "" && (
          <button
            ref={button}
            type="button"
            className="link"
            aria-expanded={open}
            aria-controls={id}
            onClick={() => setOpen(!open)}
          >
            Ask another way
          </button>
        )}
      </p>
      <div id={id}>{open && <Ways run={run} />}</div>
    </div>
  );
}

function Why({ run }: { run: RunView }) {
  const chosen = route(run);
  if (!chosen) return <span>{isLive(run) ? "Secondlook chooses how to answer." : ""}</span>;
  return <span title={chosen.details}>{chosen.words}</span>;
}

function Ways({ run }: { run: RunView }) {
  const workflows = useSelect((state) => state.settings?.workflows ?? NONE);
  const used = run.chosen?.workflow ?? run.workflow;
  return (
    <ul className="ways">
      {automaticFirst(workflows)
        .filter((workflow) => workflow.name !== used)
        .map(({ name, about }) => (
          <li key={name}>
            <button
              type="button"
              onClick={() => void ask(run.question, { workflow: name, after: run.after })}
            >
              <b>{workflowName(name)}</b>
              <span>{about}</span>
            </button>
          </li>
        ))}
    </ul>
  );
}

const NONE: { name: string; about: string }[] = [];
