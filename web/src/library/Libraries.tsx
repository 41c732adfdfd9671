import { type FormEvent, useState } from "react";
import { chooseLibrary, makeLibrary, nameLibrary, removeLibrary } from "../actions";
import { useSelect } from "../store";
import { Confirm } from "./Confirm";

type Doing = "nothing" | "choosing" | "naming" | "making" | "deleting";

/** Which library is shown; behind the button it is named, deleted, or another one made. */
export function Libraries() {
  const settings = useSelect((state) => state.settings);
  const library = useSelect((state) => state.library);
  const [doing, setDoing] = useState<Doing>("nothing");
  if (!settings) return null;
  const title = settings.titles[library] ?? library;
  const back = () => setDoing("nothing");
  const done = (work: Promise<boolean>) => void work.then((well) => well && back());
  return (
    <div className="libraries">
      <label className="choose-library">
        <span className="sr">Which library</span>
        <select value={library} onChange={(event) => chooseLibrary(event.target.value)}>
          {settings.libraries.map((name) => (
            <option key={name} value={name}>
              {settings.titles[name] ?? name}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        className="quiet libraries-more"
        aria-label="Name, make or delete a library"
        aria-expanded={doing !== "nothing"}
        onClick={() => setDoing(doing === "nothing" ? "choosing" : "nothing")}
      >
        ···
      </button>
      {doing === "choosing" && (
        <div className="row-actions">
          <button type="button" onClick={() => setDoing("making")}>
            New library
          </button>
          <button type="button" onClick={() => setDoing("naming")}>
            Rename
          </button>
          {settings.own.includes(library) && (
            <button type="button" onClick={() => setDoing("deleting")}>
              Delete
            </button>
          )}
        </div>
      )}
      {doing === "making" && (
        <Titling label="Name of the new library" yes="Make it" back={back} first="">
          {(said) => done(makeLibrary(said))}
        </Titling>
      )}
      {doing === "naming" && (
        <Titling label="Name of this library" yes="Rename" back={back} first={title}>
          {(said) => done(nameLibrary(said))}
        </Titling>
      )}
      {doing === "deleting" && (
        <Confirm yes="Delete" no="Keep" onYes={() => done(removeLibrary())} onNo={back}>
          {`Delete the library “${title}”, its documents and what was asked of it? Your own files stay where they are; uploaded copies go.`}
        </Confirm>
      )}
    </div>
  );
}

interface Props {
  label: string;
  yes: string;
  first: string;
  back: () => void;
  children: (title: string) => void;
}

function Titling({ label, yes, first, back, children }: Props) {
  const [title, setTitle] = useState(first);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    children(title);
  };
  return (
    <form className="add-more" onSubmit={submit}>
      <input
        aria-label={label}
        placeholder={label}
        // biome-ignore lint/a11y/noAutofocus: it was asked for just now
        autoFocus
        maxLength={100}
        value={title}
        onChange={(event) => setTitle(event.target.value)}
      />
      <div className="row-actions">
        <button type="submit" disabled={!title.trim()}>
          {yes}
        </button>
        <button type="button" onClick={back}>
          Cancel
        </button>
      </div>
    </form>
  );
}
