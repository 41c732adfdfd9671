import { useId, useRef, useState } from "react";
import { percent, sentence } from "../parts/words";
import { useSelect } from "../store";
import { focusNeighbour } from "./focusNeighbour";
import { FailedMore, PendingMore, ReadyMore } from "./RowMore";
import type { Row } from "./rows";
import { kindLabel, sizeInWords, sizeOf } from "./words";

interface Props {
  row: Row;
  /** Takes a file that was turned away off the list. */
  dismiss: () => void;
  /** While several are selected: whether this one is; null where it cannot be, or at other times. */
  picked: boolean | null;
  pick: () => void;
}

/** One line of the library. It opens to what can be done with the document. */
export function DocumentRow({ row, dismiss, picked, pick }: Props) {
  const [open, setOpen] = useState(false);
  const more = useId();
  const item = useRef<HTMLLIElement>(null);
  const limited = useSelect((state) => state.limitedTo.includes(row.doc?.id ?? ""));
  const gone = () => focusNeighbour(item.current, ".file");
  return (
    <li ref={item} data-state={row.state} data-limited={limited} data-document={row.doc?.id}>
      <button
        type="button"
        className="file"
        {...(picked === null
          ? { "aria-expanded": open, "aria-controls": more }
          : { "aria-pressed": picked })}
        title={row.title}
        onClick={() => (picked === null ? setOpen(!open) : pick())}
      >
        <span className="kind">{picked === null ? kindLabel(row.kind) : picked ? "☑" : "☐"}</span>
        <span className="sr">{row.title}</span>
        <FileTitle title={row.title} />
        <Size row={row} />
        {limited && <span className="sr">, questions are limited to this</span>}
      </button>
      {(row.state === "indexing" || row.state === "waiting") && <Bar row={row} />}
      {row.state === "failed" && (
        <p className="reason" data-whole={open}>
          {sentence(row.reason ?? "it could not be read")}
        </p>
      )}
      <div id={more} className="row-more" hidden={!open}>
        {open && <More row={row} dismiss={dismiss} gone={gone} />}
      </div>
    </li>
  );
}

const TAIL = 9;

/** Cut in the middle where it is too long: names of one series differ at their end. */
function FileTitle({ title }: { title: string }) {
  const cut = title.length > 2 * TAIL ? title.length - TAIL : title.length;
  return (
    <span className="file-title">
      <span aria-hidden="true">{title.slice(0, cut)}</span>
      <span aria-hidden="true">{title.slice(cut)}</span>
    </span>
  );
}

function Size({ row }: { row: Row }) {
  if (row.state === "failed") return <small>failed</small>;
  if (row.state === "waiting") return <small>{row.job ? "waiting" : "sending"}</small>;
  if (row.state === "indexing") return <small>{row.share ? percent(row.share) : "reading"}</small>;
  if (!row.doc) return <small>read</small>;
  return (
    <small>
      <span aria-hidden="true">{sizeOf(row.doc)}</span>
      <span className="sr">{sizeInWords(row.doc)}</span>
    </small>
  );
}

/** Without a number until there is one: a large file is read for a while first. */
function Bar({ row }: { row: Row }) {
  const done = Math.round(row.share * 100);
  return (
    <div
      className="bar"
      role="progressbar"
      aria-label={`Adding ${row.title}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={done || undefined}
      data-reading={row.state === "indexing" && done === 0}
    >
      <i style={done ? { width: `${done}%` } : undefined} />
    </div>
  );
}

function More({ row, dismiss, gone }: Pick<Props, "row" | "dismiss"> & { gone: () => void }) {
  if (row.state === "failed") return <FailedMore row={row} dismiss={dismiss} gone={gone} />;
  if (row.state === "ready" && row.doc) return <ReadyMore doc={row.doc} gone={gone} />;
  return <PendingMore row={row} />;
}
