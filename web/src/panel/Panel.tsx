import { type RefObject, useLayoutEffect, useRef } from "react";
import { Sheet } from "../parts/Sheet";
import type { PanelView, SourceTarget } from "../state";
import { useSelect } from "../store";
import { Made } from "./Made";
import { Source } from "./Source";
import { TABS, Tabs, tabId, tabPanelId } from "./Tabs";
import "./panel.css";

/** Right: how the answer was made, or a source of it. */
export function Panel() {
  const run = useSelect((state) => state.run);
  const view = useSelect((state) => state.panel);
  const source = useSelect((state) => state.source);
  const table = useSelect((state) => state.table);
  const body = useRef<HTMLDivElement>(null);
  useOpener(source ?? table, body);
  const shown: Record<PanelView, React.ReactNode> = {
    made: <Made run={run} />,
    source: <Source source={source} table={table} run={run} />,
  };
  return (
    <Sheet name="panel" upTo={1180} as="aside" label="How this answer was made">
      <div ref={body} className="panel-body">
        <Tabs chosen={view} />
        {TABS.map((tab) => (
          <div
            key={tab.view}
            id={tabPanelId(tab.view)}
            className="panel-shown"
            role="tabpanel"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
            tabIndex={0}
            aria-labelledby={tabId(tab.view)}
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
