import { type KeyboardEvent, useRef } from "react";

interface Props<View extends string> {
  /** Names the parts that are shown: `NAME-VIEW`, their tabs `NAME-tab-VIEW`. */
  name: string;
  label: string;
  tabs: readonly { view: View; label: string }[];
  chosen: View;
  choose: (view: View) => void;
}

export const tabId = (name: string, view: string): string => `${name}-tab-${view}`;
export const tabPanelId = (name: string, view: string): string => `${name}-${view}`;

/** One stop for the Tab key; the arrow keys go from one to the other. */
export function Tabs<View extends string>({ name, label, tabs, chosen, choose }: Props<View>) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ view }) => view === chosen);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    const view = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length]?.view;
    if (!view) return;
    event.preventDefault();
    choose(view);
    list.current?.querySelector<HTMLElement>(`#${tabId(name, view)}`)?.focus();
  };
  return (
    <div ref={list} className="tabs" role="tablist" aria-label={label}>
      {tabs.map((tab) => (
        <button
          key={tab.view}
          id={tabId(name, tab.view)}
          type="button"
          role="tab"
          aria-selected={tab.view === chosen}
          aria-controls={tabPanelId(name, tab.view)}
          tabIndex={tab.view === chosen ? 0 : -1}
          onClick={() => choose(tab.view)}
          onKeyDown={move}
        >
          {tab.label}
        </button>
      ))}
    </div>
  );
}
