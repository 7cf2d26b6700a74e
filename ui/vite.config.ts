import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = "http://127.0.0.1:8123";

export default defineConfig({
  // The server writes where the page stands in place of the dot.
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../src/ringi/server/static",
    emptyOutDir: true,
    // The licences of the packages in the bundle ask to be passed on with it.
    license: { fileName: "third-party-licenses.md" },
    // A style sheet of a part that failed to load once is never asked for again: the part would come without its looks.
    cssCodeSplit: false,
    rolldownOptions: {
      // These packages do not say so themselves: without it, the first view would get whole forms with their checks for one context.
      treeshake: { moduleSideEffects: [{ test: /node_modules\/(@ant-design|@rc-component|@tanstack)\//, sideEffects: false }] },
      output: {
        codeSplitting: {
          // What the first view needs in two files; a file for each module that pages share would be 45 requests.
          groups: [
            // Reached from the first view, but used by none of its parts.
            { name: "later", test: /@rc-component\/(form\/es\/(?!FormContext)|async-validator|collapse)|antd\/es\/collapse/, priority: 3, includeDependenciesRecursively: false },
            { name: "libraries", tags: ["$initial"], test: /node_modules/, priority: 2 },
            { name: "start", tags: ["$initial"], priority: 1 },
          ],
        },
      },
    },
  },
  // The texts of codes and the table of keys are in the package, so that server and terminal have the same.
  server: { host: "127.0.0.1", fs: { allow: [".", "../src/ringi/base/texts", "../src/ringi/base/keys.json"] }, proxy: { "/v1": { target: server, changeOrigin: true } } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], setupFiles: "src/testing/setup.ts", unstubGlobals: true, testTimeout: 20_000, isolate: false, maxWorkers: "100%" },
});
