import { type FormEvent, useId, useState } from "react";
import { addAddresses, addText, watchFolder } from "../actions";
import { useSelect } from "../store";
import { type Pasted, readPasted } from "./pasted";

const DEPTHS = ["Only this page", "And the pages it links to", "Two links deep"];

/** One box for a text, web addresses or a folder; a line under it says what will be done. */
export function AddMore() {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const [title, setTitle] = useState("");
  const [depth, setDepth] = useState(0);
  const [busy, setBusy] = useState(false);
  const mayWatch = useSelect((state) => state.watched?.allowed ?? false);
  const box = useId();
  const pasted = readPasted(typed);
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    if (await carriedOut(pasted, typed, title, depth)) {
      setTyped("");
      setTitle("");
    }
    setBusy(false);
  };
  if (!open) {
    return (
      <button type="button" className="quiet add-more-open" onClick={() => setOpen(true)}>
        Paste text, a web address or a folder
      </button>
    );
  }
  return (
    <form className="add-more" onSubmit={(event) => void add(event)}>
      <label htmlFor={box}>Text, a web address or a folder</label>
      <textarea
        id={box}
        // biome-ignore lint/a11y/noAutofocus: it was asked for just now
        autoFocus
        rows={3}
        value={typed}
        aria-describedby={`${box}-about`}
        onChange={(event) => setTyped(event.target.value)}
      />
      <p id={`${box}-about`}>{aboutOf(pasted, mayWatch)}</p>
      {pasted.kind === "text" && (
        <input
          aria-label="Title, if you like"
          placeholder="Title, if you like"
          maxLength={200}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
      )}
      {pasted.kind === "addresses" && (
        <select
          aria-label="How much of the site"
          value={depth}
          onChange={(event) => setDepth(Number(event.target.value))}
        >
          {DEPTHS.map((said, links) => (
            <option key={said} value={links}>
              {said}
            </option>
          ))}
        </select>
      )}
      <div className="row-actions">
        <button
          type="submit"
          disabled={busy || pasted.kind === "nothing" || (pasted.kind === "folder" && !mayWatch)}
        >
          {pasted.kind === "folder" ? "Watch the folder" : "Add"}
        </button>
        <button type="button" onClick={() => setOpen(false)}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function carriedOut(pasted: Pasted, typed: string, title: string, depth: number): Promise<boolean> {
  if (pasted.kind === "addresses") return addAddresses(pasted.addresses, depth);
  if (pasted.kind === "folder") return watchFolder(pasted.folder, true);
  return addText(typed, title);
}

function aboutOf(pasted: Pasted, mayWatch: boolean): string {
  if (pasted.kind === "addresses") return "The server fetches it and keeps its text here.";
  if (pasted.kind === "text") return "It becomes a document of its own.";
  if (pasted.kind === "nothing") return "A page is fetched, a folder is followed.";
  if (mayWatch) return "Its files are added and followed while Secondlook runs.";
  return "A folder is watched from the machine that the server runs on: secondlook watch FOLDER.";
}
