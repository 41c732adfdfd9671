import { type KeyboardEvent, useRef } from "react";
import type { PanelView } from "../state";
import { dispatch } from "../store";

export const TABS: { view: PanelView; label: string }[] = [
  { view: "made", label: "How it was made" },
  { view: "source", label: "Source" },
];

export const tabId = (view: PanelView): string => `panel-tab-${view}`;
export const tabPanelId = (view: PanelView): string => `panel-${view}`;

/** One stop for the Tab key; the arrow keys go from one to the other. */
export function Tabs({ chosen }: { chosen: PanelView }) {
  const list = useRef<HTMLDivElement>(null);
  const choose = (view: PanelView) => dispatch({ type: "panel", panel: view });
  const move = (event: KeyboardEvent) => {
    const view = viewFor(event.key, chosen);
    if (!view) return;
    event.preventDefault();
    choose(view);
    list.current?.querySelector<HTMLElement>(`#${tabId(view)}`)?.focus();
  };
  return (
    <div ref={list} className="tabs" role="tablist" aria-label="About this answer">
      {TABS.map(({ view, label }) => (
        <button
          key={view}
          id={tabId(view)}
          type="button"
          role="tab"
          aria-selected={view === chosen}
          aria-controls={tabPanelId(view)}
          tabIndex={view === chosen ? 0 : -1}
          onClick={() => choose(view)}
          onKeyDown={move}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

function viewFor(key: string, chosen: PanelView): PanelView | null {
  const at = TABS.findIndex(({ view }) => view === chosen);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[key];
  if (to === undefined) return null;
  return TABS[(to + TABS.length) % TABS.length]?.view ?? null;
}
