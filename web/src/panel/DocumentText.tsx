import { type ReactNode, useEffect, useRef, useState } from "react";
import * as api from "../api";
import { Problem } from "../api";
import { type Marked, markSpan } from "../parts/offsets";
import { hintSentence, pageOf, sentence } from "../parts/words";
import type { SourceTarget } from "../state";
import { type TextWindow, type Turn, turnBack, turnOn, type Window, windowOf } from "./windows";

interface Props {
  source: SourceTarget;
  library: string;
  /** The way to the file itself; it is told which page is shown. */
  children: (page: number | null) => ReactNode;
}

/** A page of a document, or a part of one that has none, with what is cited marked in it. */
export function DocumentText({ source, library, children }: Props) {
  const [where, setWhere] = useState(() => windowOf(source));
  const read = useText(library, source.document, where);
  if (read === null) return <p className="panel-empty">Reading the source …</p>;
  if (read instanceof Problem) return <Unreadable problem={read} source={source} />;
  const marked = markSpan(read.text, read.start, source.start, source.end);
  return (
    <>
      <p className="source-place">{placeOf(read)}</p>
      <p className="source-links">{children(read.page)}</p>
      {isChanged(marked, source) && <Changed source={source} />}
      <PageText marked={marked} quoted={source.quote !== null} />
      <Turning read={read} source={source} cited={marked.marked !== ""} turn={setWhere} />
    </>
  );
}

function useText(library: string, document: string, where: Window): TextWindow | Problem | null {
  const [read, setRead] = useState<TextWindow | Problem | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    api.documentText(library, document, where, leaving.signal).then(setRead, (error: unknown) => {
      if (error instanceof Problem) setRead(error);
    });
    return () => leaving.abort();
  }, [library, document, where]);
  return read;
}

function placeOf(read: TextWindow): string {
  const page = read.page ? `${pageOf(read.page)} of ${read.pages ?? "?"}` : "";
  return [page, read.heading].filter(Boolean).join(" · ");
}

/** The words at the place are not the ones that were cited: the document is another one now. */
function isChanged(marked: Marked, source: SourceTarget): boolean {
  return source.quote !== null && marked.marked !== "" && !source.quote.startsWith(marked.marked);
}

function Changed({ source }: { source: SourceTarget }) {
  return (
    <p className="note">
      {`The document was changed since: other words stand at this place now. Quoted was: “${source.quote}”`}
    </p>
  );
}

function Unreadable({ problem, source }: { problem: Problem; source: SourceTarget }) {
  const missing = problem.status === 404;
  return (
    <>
      <p className="note">
        {missing ? "This document is no longer in the library." : sentence(problem.message)}{" "}
        {missing ? "Add it again to read it here." : hintSentence(problem.hint ?? "")}
      </p>
      {source.quote && <blockquote className="page-text">{source.quote}</blockquote>}
    </>
  );
}

/** `quoted` tells words that are cited from a whole passage that was looked at. */
export function PageText({ marked, quoted }: { marked: Marked; quoted: boolean }) {
  const mark = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new text is scrolled to anew
  useEffect(() => {
    mark.current?.scrollIntoView({ block: "nearest" }); // returns a promise in newer browsers
  }, [marked.marked, marked.before]);
  return (
    <div className="page-text">
      {marked.before}
      {marked.marked && (
        <mark ref={mark} data-quoted={quoted}>
          {marked.marked}
        </mark>
      )}
      {marked.after}
    </div>
  );
}

interface TurningProps {
  read: TextWindow;
  source: SourceTarget;
  /** Whether what is cited lies in the part that is shown. */
  cited: boolean;
  turn: (where: Window) => void;
}

function Turning({ read, source, cited, turn }: TurningProps) {
  const [back, on] = [turnBack(read), turnOn(read)];
  if (back === null && on === null) return null;
  return (
    <nav className="turning" aria-label={`Parts of ${source.title}`}>
      <TurnButton
        turned={back}
        label={on?.label === "Later" ? "Earlier" : "Previous page"}
        turn={turn}
      />
      {!cited && source.end > source.start && (
        <button type="button" className="pill" onClick={() => turn(windowOf(source))}>
          {source.page === null ? "To the quote" : `To the quote, ${pageOf(source.page)}`}
        </button>
      )}
      <TurnButton
        turned={on}
        label={back?.label === "Earlier" ? "Later" : "Next page"}
        turn={turn}
      />
    </nav>
  );
}

interface TurnButtonProps {
  turned: Turn | null;
  /** What it says where there is nowhere to turn to. */
  label: string;
  turn: (where: Window) => void;
}

function TurnButton({ turned, label, turn }: TurnButtonProps) {
  return (
    <button
      type="button"
      className="pill"
      disabled={turned === null}
      onClick={() => turned && turn(turned.where)}
    >
      {turned?.label ?? label}
    </button>
  );
}
