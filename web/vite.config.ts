import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/secondlook/web",
    emptyOutDir: true,
    sourcemap: false,
    // Whoever ships a library ships its licence too.
    license: { fileName: "licences.md" },
    // Everything is a file of its own: the page's content security policy allows no data: scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: { "/api": server, "/assets/plotly.min.js": server },
  },
});
