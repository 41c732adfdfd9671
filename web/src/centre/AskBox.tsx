import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { ask } from "../actions";
import type { RunView } from "../run";
import { useSelect } from "../store";
import { Limits } from "./Limits";
import { automaticFirst, workflowName } from "./workflows";

/** The one place to ask: it stays while an answer is read, and what it asks follows that answer. */
export function AskBox() {
  const run = useSelect((state) => state.run);
  const most = useSelect((state) => state.settings?.limits.question_characters ?? 4000);
  const [question, setQuestion] = useState("");
  const [workflow, setWorkflow] = useState<string | null>(null);
  const [web, setWeb] = useState(true);
  const box = useRef<HTMLTextAreaElement>(null);
  useGrowing(box, question);
  const tooLong = question.length > most;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const asked = question.trim();
    if (asked === "" || tooLong) return;
    setQuestion("");
    void ask(asked, { workflow, web, after: run?.answer ? run.id : null });
  };
  const enter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form className="ask-part" onSubmit={submit}>
      <Limits />
      <div className="ask">
        <textarea
          ref={box}
          id="ask-box"
          rows={1}
          value={question}
          aria-label={label(run)}
          placeholder={label(run)}
          aria-invalid={tooLong}
          aria-describedby="ask-note"
          onChange={(event) => setQuestion(event.target.value)}
          onKeyDown={enter}
        />
        <WebChoice value={web} choose={setWeb} />
        <WorkflowChoice value={workflow} choose={setWorkflow} />
        <button type="submit" className="go" disabled={question.trim() === "" || tooLong}>
          Ask
        </button>
      </div>
      <p id="ask-note" className="ask-note" data-bad={tooLong || undefined}>
        {tooLong ? `${question.length} of at most ${most} characters: make it shorter.` : ""}
      </p>
    </form>
  );
}

function label(run: RunView | null): string {
  if (!run?.answer) return "Ask a question";
  return run.answer.asks_back ? "Your reply" : "Ask a follow-up";
}

/** As high as its text, up to a third of the window. */
function useGrowing(box: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is what makes it grow
  useEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight / 3)}px`;
  }, [box, text]);
}

/** Only where the server may search the web at all. */
function WebChoice({ value, choose }: { value: boolean; choose: (web: boolean) => void }) {
  const offered = useSelect((state) => state.settings?.web_search ?? false);
  if (!offered) return null;
  return (
    <label className="web-choice">
      <input type="checkbox" checked={value} onChange={(event) => choose(event.target.checked)} />
      Web too
    </label>
  );
}

interface ChoiceProps {
  value: string | null;
  choose: (workflow: string | null) => void;
}

function WorkflowChoice({ value, choose }: ChoiceProps) {
  const settings = useSelect((state) => state.settings);
  if (!settings) return null;
  return (
    <select
      aria-label="Workflow"
      value={value ?? settings.workflow}
      onChange={(event) => choose(event.target.value)}
    >
      {automaticFirst(settings.workflows).map(({ name, about }) => (
        <option key={name} value={name} title={about}>
          {workflowName(name)}
        </option>
      ))}
    </select>
  );
}
