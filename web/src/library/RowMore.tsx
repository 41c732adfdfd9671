import { useState } from "react";
import { limitTo, openSource, openTable, reindex, removeDocument, stopJob } from "../actions";
import { documentTarget } from "../panel/targets";
import { ago, count } from "../parts/words";
import { useSelect } from "../store";
import type { Doc } from "../types";
import { Confirm } from "./Confirm";
import type { Row } from "./rows";

/** What the server says of a document beside what every client needs. */
type NotedDoc = Doc & { notes?: string[]; uploaded?: boolean };

interface Leaving {
  /** Called once the row is about to go. */
  gone: () => void;
}

export function ReadyMore({ doc, gone }: { doc: NotedDoc } & Leaving) {
  return (
    <>
      <p>{factsOf(doc)}</p>
      {doc.notes?.map((note) => (
        <p key={note}>{note}</p>
      ))}
      <div className="row-actions">
        {doc.tables.map((table) => (
          <button key={table.id} type="button" onClick={() => openTable(table.id)}>
            {doc.tables.length > 1 ? `See table ${table.name}` : "See table"}
          </button>
        ))}
        {doc.address && (
          <a className="link" href={doc.address} target="_blank" rel="noreferrer">
            See the page itself
          </a>
        )}
        {doc.characters > 0 && (
          <button type="button" onClick={() => openSource(documentTarget(doc))}>
            Read
          </button>
        )}
        <AskOnlyHere doc={doc} />
        <button type="button" onClick={() => void reindex(doc.id)}>
          {doc.address ? "Fetch again" : "Index again"}
        </button>
        <Delete doc={doc} gone={gone} />
      </div>
    </>
  );
}

function factsOf(doc: Doc): string {
  const parts = [
    doc.author,
    doc.date,
    count(doc.passages, "passage"),
    doc.added && `added ${ago(doc.added)}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

function AskOnlyHere({ doc }: { doc: Doc }) {
  const limitedTo = useSelect((state) => state.limitedTo);
  const limited = limitedTo.includes(doc.id);
  const others = limitedTo.filter((id) => id !== doc.id);
  return (
    <button
      type="button"
      aria-pressed={limited}
      onClick={() => limitTo(limited ? others : [...others, doc.id])}
    >
      {!limited && others.length > 0 ? "Ask in this too" : "Ask only in this"}
    </button>
  );
}

function Delete({ doc, gone }: { doc: NotedDoc } & Leaving) {
  const [asked, setAsked] = useState(false);
  const remove = () => {
    gone();
    void removeDocument(doc.id);
  };
  if (!asked) {
    return (
      <button type="button" onClick={() => setAsked(true)}>
        Delete
      </button>
    );
  }
  return (
    <Confirm yes="Delete" no="Keep" onYes={remove} onNo={() => setAsked(false)}>
      {deletionOf(doc)}
    </Confirm>
  );
}

function deletionOf(doc: NotedDoc): string {
  if (doc.uploaded) return "Delete it, and the copy that was uploaded?";
  if (!doc.has_original) return "Delete it from the library?";
  return "Delete it from the library? Your own file stays where it is.";
}

export function FailedMore({ row, dismiss, gone }: { row: Row; dismiss: () => void } & Leaving) {
  const { doc } = row;
  const forget = async () => {
    gone();
    if (doc) await removeDocument(doc.id);
    dismiss();
  };
  return (
    <>
      <p>{whatToDo(row)}</p>
      <div className="row-actions">
        {doc?.has_original && (
          <button type="button" onClick={() => void reindex(doc.id)}>
            Retry
          </button>
        )}
        <button type="button" onClick={() => void forget()}>
          Dismiss
        </button>
      </div>
    </>
  );
}

function whatToDo({ doc }: Row): string {
  if (doc === null) return "It was not added. Add it again to try once more.";
  if (doc.has_original) return "Fix the file and retry.";
  return "Save it as PDF or plain text, and add it again.";
}

function becomingOf({ state, job }: Row): string {
  if (state === "ready") return "Was read. It is asked as soon as the others of its upload are.";
  if (state === "indexing")
    return "Is being read. Questions can be asked meanwhile; they do not see it yet.";
  return job ? "Waits for its turn." : "Is on its way to the server.";
}

export function PendingMore({ row }: { row: Row }) {
  const { job } = row;
  return (
    <>
      <p>{becomingOf(row)}</p>
      {job && (
        <div className="row-actions">
          <button type="button" onClick={() => void stopJob(job)}>
            Stop adding
          </button>
        </div>
      )}
    </>
  );
}
