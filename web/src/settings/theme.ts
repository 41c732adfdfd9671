/** Light or dark: as the system has it, or as the person chose; kept in this browser alone. */

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "theme";
const CHANGED = "themechange";
const system = () => matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return THEMES.find((one) => one === kept) ?? "system";
  } catch {
    return "system"; // without storage
  }
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
}

export function chooseTheme(chosen: Theme): void {
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // without storage it is forgotten, and nothing else
  }
  document.documentElement.dataset.theme = chosen;
  window.dispatchEvent(new Event(CHANGED));
}

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "dark" || (chosen !== "light" && system().matches);
}

export function whenThemeChanges(changed: () => void): () => void {
  const media = system();
  media.addEventListener("change", changed);
  window.addEventListener(CHANGED, changed);
  return () => {
    media.removeEventListener("change", changed);
    window.removeEventListener(CHANGED, changed);
  };
}
