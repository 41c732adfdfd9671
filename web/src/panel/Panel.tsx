import { type RefObject, useLayoutEffect, useRef } from "react";
import { Sheet } from "../parts/Sheet";
import { Tabs, tabId, tabPanelId } from "../parts/Tabs";
import { type PanelView, type SourceTarget, turnOf } from "../state";
import { dispatch, useSelect } from "../store";
import { Made } from "./Made";
import { Source } from "./Source";
import "./panel.css";

const TABS = [
  { view: "source", label: "Source" },
  { view: "made", label: "How it was made" },
] as const;

/** Right: how the answer was made, or a source of it. */
export function Panel() {
  const run = useSelect((state) => turnOf(state, state.inView));
  const view = useSelect((state) => state.panel);
  const source = useSelect((state) => state.source);
  const table = useSelect((state) => state.table);
  const body = useRef<HTMLDivElement>(null);
  useOpener(source?.opened ? source : table, body);
  useLayoutEffect(() => {
    // What has the focus is about to be hidden: the tab takes it.
    const hidden = document.activeElement?.closest(".panel-shown");
    if (hidden && hidden.id !== tabPanelId("panel", view)) {
      document.getElementById(tabId("panel", view))?.focus();
    }
  }, [view]);
  const shown: Record<PanelView, React.ReactNode> = {
    made: <Made run={run} />,
    source: <Source source={source} table={table} run={run} />,
  };
  return (
    <Sheet name="panel" upTo={1180} as="aside" label="How this answer was made">
      <div ref={body} className="panel-body">
        <Tabs
          name="panel"
          label="About this answer"
          tabs={TABS}
          chosen={view}
          choose={(panel) => dispatch({ type: "panel", panel })}
        />
        {TABS.map((tab) => (
          <div
            key={tab.view}
            id={tabPanelId("panel", tab.view)}
            className="panel-shown"
            role="tabpanel"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
            tabIndex={0}
            aria-labelledby={tabId("panel", tab.view)}
            hidden={tab.view !== view}
          >
            {shown[tab.view]}
          </div>
        ))}
      </div>
    </Sheet>
  );
}

/** When a source is closed, by whatever means, the focus goes back to what opened it. */
function useOpener(
  opened: SourceTarget | string | null,
  body: RefObject<HTMLElement | null>,
): void {
  const pressed = useLastPressed();
  const opener = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    const active = document.activeElement;
    const nowhere = active === document.body;
    const from = nowhere ? pressed.current : active;
    if (opened !== null && from instanceof HTMLElement && !from.closest(".source")) {
      opener.current = from;
    }
    if (opened === null && (nowhere || body.current?.contains(active))) opener.current?.focus();
    if (opened === null) opener.current = null;
  }, [opened, body, pressed]);
}

/** Safari does not focus a button that is clicked. */
function useLastPressed(): RefObject<HTMLElement | null> {
  const pressed = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    const remember = ({ target }: Event) => {
      pressed.current = target instanceof Element ? target.closest("button, a") : null;
    };
    document.addEventListener("click", remember, { capture: true });
    return () => document.removeEventListener("click", remember, { capture: true });
  }, []);
  return pressed;
}
