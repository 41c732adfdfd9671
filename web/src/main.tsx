import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { begin, followRoute } from "./actions";
import { home } from "./routes";
import { applyTheme } from "./settings/theme";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/centre.css";
import "./styles/answer.css";
import "./styles/evidence.css";
import "./styles/asking.css";

applyTheme();
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

window.addEventListener("hashchange", () => void followRoute());
// A question that could not be asked has no address: the way home is then no change of it.
document.addEventListener("click", ({ target }) => {
  const isHome = target instanceof Element && target.closest(`a[href="${home}"]`) !== null;
  if (isHome && location.hash === home) void followRoute();
});
void begin();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
