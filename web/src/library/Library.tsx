import { chooseLibrary } from "../actions";
import { Brand } from "../parts/Brand";
import { DropZone } from "../parts/DropZone";
import { closeSheet, Sheet } from "../parts/Sheet";
import { home } from "../routes";
import { useSelect } from "../store";
import { AskedBefore } from "./AskedBefore";
import { Holdings } from "./Holdings";
import "./library.css";

/** Left: documents and tables, the drop zone, past questions. */
export function Library() {
  return (
    <Sheet name="library" upTo={760} as="nav" label="Library">
      <div className="library-head">
        <Brand />
        <a className="quiet" href={home} onClick={closeSheet}>
          New<span className="sr"> question</span>
        </a>
      </div>
      <ChooseLibrary />
      <Holdings />
      <DropZone size="small">Drop files here, or choose</DropZone>
      <AskedBefore />
    </Sheet>
  );
}

function ChooseLibrary() {
  const libraries = useSelect((state) => state.settings?.libraries);
  const library = useSelect((state) => state.library);
  if (!libraries || libraries.length < 2) return null;
  return (
    <label className="choose-library">
      <span className="sr">Which library</span>
      <select value={library} onChange={(event) => chooseLibrary(event.target.value)}>
        {libraries.map((name) => (
          <option key={name} value={name}>
            {name === "default" ? "My library" : name}
          </option>
        ))}
      </select>
    </label>
  );
}
