import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { attempt } from "../actions";
import { isDark, whenThemeChanges } from "../settings/theme";
import { useSelect } from "../store";
import type { Analysis, AnalysisFigure, Json } from "../types";
import { CONFIG, loadPlotly, readFigure, themeColours, themed } from "./plotly";
import { figureWords } from "./telling";

interface Props {
  figure: AnalysisFigure;
  analysis: Analysis;
  run: string;
  place: number;
}

/** A chart with a caption in words. Where it cannot be drawn the table stands in for it. */
export function Figure({ figure, analysis, run, place }: Props) {
  const extra = useSelect((state) => state.settings?.analyst_extra ?? true);
  const words = figureWords(figure.title, analysis);
  if (figure.kind === "plotly" && !extra) return null;
  return (
    <figure data-testid="figure">
      {figure.kind === "png" ? (
        <Picture data={figure.data} words={words} name={`${run}-${place + 1}`} />
      ) : (
        <Chart data={figure.data} words={words} name={`${run}-${place + 1}`} />
      )}
      <figcaption>{words}</figcaption>
    </figure>
  );
}

interface Drawn {
  data: Json;
  words: string;
  name: string;
}

function Picture({ data, words, name }: Drawn) {
  const source = `data:image/png;base64,${String(data)}`;
  return (
    <>
      <img src={source} alt={words} />
      <a className="link" href={source} download={`${name}.png`}>
        Save as PNG
      </a>
    </>
  );
}

function useDark(): boolean {
  return useSyncExternalStore(whenThemeChanges, isDark);
}

function Chart({ data, words, name }: Drawn) {
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"loading" | "drawn" | "failed">("loading");
  const dark = useDark();
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew in the colours of the other theme
  useEffect(() => {
    const here = place.current;
    const figure = readFigure(data);
    let gone = false;
    if (!here || !figure) return setState("failed");
    loadPlotly()
      .then((plotly) => {
        if (gone) return undefined;
        return plotly
          .newPlot(here, figure.data, themed(figure.layout, themeColours()), CONFIG)
          .then(() => setState("drawn"));
      })
      .catch(() => !gone && setState("failed"));
    return () => {
      gone = true;
      window.Plotly?.purge(here);
    };
  }, [data, dark]);
  const save = () =>
    attempt(async () => {
      const plotly = await loadPlotly();
      if (place.current)
        await plotly.downloadImage(place.current, { format: "png", filename: name, scale: 2 });
    });
  return (
    <>
      <div ref={place} className="chart" data-state={state} role="img" aria-label={words} />
      {state === "failed" && (
        <p className="note">The figure cannot be drawn here; its data is below.</p>
      )}
      {state === "drawn" && (
        <button type="button" className="link" onClick={() => void save()}>
          Save as PNG
        </button>
      )}
    </>
  );
}
