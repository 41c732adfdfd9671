import { chooseLibrary } from "../actions";
import { Brand } from "../parts/Brand";
import { DropZone } from "../parts/DropZone";
import { closeSheet, Sheet } from "../parts/Sheet";
import { Tabs, tabId, tabPanelId } from "../parts/Tabs";
import { OpenSettings } from "../parts/TopBar";
import { useRemembered } from "../parts/useRemembered";
import { home } from "../routes";
import { useSelect } from "../store";
import { Holdings } from "./Holdings";
import { Threads } from "./Threads";
import "./library.css";

const TABS = [
  { view: "files", label: "Files" },
  { view: "asked", label: "Asked before" },
] as const;

/** Left: documents and tables with the drop zone, or what was asked before. */
export function Library() {
  const [view, setView] = useRemembered<"files" | "asked">("library tab", "files");
  const shown = {
    files: (
      <>
        <Holdings />
        <DropZone size="small">Drop files here, or choose</DropZone>
      </>
    ),
    asked: <Threads />,
  };
  return (
    <Sheet name="library" upTo={760} as="nav" label="Library">
      <div className="library-head">
        <Brand />
        <span className="library-ways">
          <OpenSettings />
          <a className="quiet" href={home} onClick={closeSheet}>
            New<span className="sr"> question</span>
          </a>
        </span>
      </div>
      <ChooseLibrary />
      <Tabs name="library" label="This library" tabs={TABS} chosen={view} choose={setView} />
      {TABS.map((tab) => (
        <div
          key={tab.view}
          id={tabPanelId("library", tab.view)}
          className="library-shown"
          role="tabpanel"
          aria-labelledby={tabId("library", tab.view)}
          hidden={tab.view !== view}
        >
          {shown[tab.view]}
        </div>
      ))}
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
