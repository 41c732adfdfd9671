import { Brand } from "../parts/Brand";
import { DropZone } from "../parts/DropZone";
import { closeSheet, Sheet } from "../parts/Sheet";
import { Tabs, tabId, tabPanelId } from "../parts/Tabs";
import { OpenSettings } from "../parts/TopBar";
import { useRemembered } from "../parts/useRemembered";
import { home } from "../routes";
import { AddMore } from "./AddMore";
import { Holdings } from "./Holdings";
import { Libraries } from "./Libraries";
import { Threads } from "./Threads";
import { WatchedFolders } from "./WatchedFolders";
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
        <AddMore />
        <WatchedFolders />
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
      <Libraries />
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
