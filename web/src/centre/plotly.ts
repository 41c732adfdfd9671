/** Plotly, fetched from the server the first time that a figure is shown; and its colours. */

import { isDark } from "../settings/theme";
import type { Json } from "../types";

interface Plotly {
  newPlot(place: HTMLElement, data: Json, layout: object, config: object): Promise<unknown>;
  downloadImage(place: HTMLElement, options: object): Promise<unknown>;
  purge(place: HTMLElement): void;
}

declare global {
  interface Window {
    Plotly?: Plotly;
  }
}

let loading: Promise<Plotly> | null = null;

export function loadPlotly(): Promise<Plotly> {
  loading ??= new Promise<Plotly>((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/assets/plotly.min.js";
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : reject(new Error("no Plotly")));
    script.onerror = () => {
      loading = null; // may be tried again
      script.remove();
      reject(new Error("Plotly cannot be loaded"));
    };
    document.head.append(script);
  });
  return loading;
}

export const CONFIG = {
  displaylogo: false,
  displayModeBar: false,
  responsive: true,
  // Plotly would fetch map shapes from another host.
  topojsonURL: "/assets/",
  showSendToCloud: false,
};

export interface FigureJson {
  data: Json;
  layout: Record<string, Json>;
}

export function readFigure(json: Json): FigureJson | null {
  if (json === null || typeof json !== "object" || Array.isArray(json)) return null;
  const { data, layout } = withoutLinks(json) as Record<string, Json>;
  if (!Array.isArray(data)) return null;
  const plain = layout !== null && typeof layout === "object" && !Array.isArray(layout);
  return { data, layout: plain ? layout : {} };
}

/** Plotly would make links of labels: what stands in a cell of a table leads nobody away. */
function withoutLinks(json: Json): Json {
  if (typeof json === "string") return json.replace(/<(?=\s*\/?\s*a\b)/gi, "&lt;");
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map(withoutLinks);
  return Object.fromEntries(Object.entries(json).map(([name, one]) => [name, withoutLinks(one)]));
}

export interface Colours {
  ink: string;
  soft: string;
  line: string;
  series: string[];
}

/** Told apart also by people who see few colours (Okabe and Ito, 2008); black and yellow vanish. */
const SERIES = {
  light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5f5b53"],
  dark: ["#56B4E9", "#E69F00", "#2fc495", "#CC79A7", "#F0E442", "#4b9fd6", "#a8a397"],
};

export function themeColours(): Colours {
  // As a colour of something on the page: of a token alone one gets both themes' words.
  const probe = document.body.appendChild(document.createElement("i"));
  const token = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const [ink, soft, line] = [token("--ink"), token("--soft"), token("--line")];
  probe.remove();
  return { ink, soft, line, series: isDark() ? SERIES.dark : SERIES.light };
}

/** The figure's own layout in the page's colours; its title is the caption under it. */
export function themed(layout: Record<string, Json>, colours: Colours): Record<string, Json> {
  const axes = Object.entries(layout).filter(([name]) => /^[xyz]axis\d*$/.test(name));
  const { title: _title, ...rest } = layout;
  const margin = { t: 16, r: 8, b: 48, l: 56 };
  return {
    ...rest,
    ...Object.fromEntries(axes.map(([name, axis]) => [name, themedAxis(axis, colours)])),
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    colorway: colours.series,
    font: { color: colours.ink, size: 13, family: "system-ui, sans-serif" },
    hoverlabel: { font: { family: "system-ui, sans-serif" } },
    margin,
  };
}

function themedAxis(axis: Json, { line, soft }: Colours): Json {
  const own = axis !== null && typeof axis === "object" && !Array.isArray(axis) ? axis : {};
  return { ...own, gridcolor: line, linecolor: soft, zerolinecolor: line, automargin: true };
}
