import { readdirSync, readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = "http://127.0.0.1:8123";

const pdfjs = "node_modules/pdfjs-dist";

/** What pdf.js loads by its name when a file needs it: its workers, its decoders without WebAssembly, encodings of Chinese, Japanese and Korean, and symbols. */
const pdfFiles: Record<string, RegExp> = {
  "legacy/build": /^pdf\.(?:worker|renderer)\.min\.mjs$/,
  wasm: /_nowasm_fallback\.js$|^LICENSE_(?:PDFJS_)?(?:JBIG2|OPENJPEG)$/,
  // No common program writes the encodings that are left out.
  cmaps: /^(?!.*UTF(?:8|32)-)/,
  // For every other font, the one of the system is used.
  standard_fonts: /^Foxit(?:Dingbats|Symbol)\.pfb$|^LICENSE_FOXIT$/,
};

const copyPdfFiles = {
  name: "pdf-files",
  apply: "build" as const,
  generateBundle(this: { emitFile: (file: { type: "asset"; fileName: string; source: Uint8Array }) => unknown }) {
    const { version } = JSON.parse(readFileSync(`${pdfjs}/package.json`, "utf8")) as { version: string };
    for (const [folder, names] of Object.entries(pdfFiles)) {
      for (const name of readdirSync(`${pdfjs}/${folder}`).filter((file) => names.test(file))) {
        this.emitFile({ type: "asset", fileName: `assets/pdf-${version}/${folder.split("/").at(-1)}/${name}`, source: readFileSync(`${pdfjs}/${folder}/${name}`) });
      }
    }
  },
};

/**
 * Each language of the texts is a file of its own, so that only one is loaded: what `ja.ts` or `zh.ts` imports is a copy
 * of the texts for this language, and tree shaking removes the others from it.
 */
const languageFiles = {
  name: "language-files",
  apply: "build" as const,
  enforce: "pre" as const,
  async resolveId(this: { resolve: (source: string, importer: string, options: { skipSelf: boolean }) => Promise<{ id: string } | null> }, source: string, importer?: string) {
    const [language] = /(?<=\/)(?:ja|zh)(?=\.ts$)|(?<=\?)(?:ja|zh)$/.exec(importer ?? "") ?? [];
    if (!language || !importer || !/^\.\/[\w-]+$/.test(source)) return null;
    const found = await this.resolve(source, importer, { skipSelf: true });
    return found && { id: `${found.id}?${language}` };
  },
};

export default defineConfig({
  // The server writes where the page stands in place of the dot.
  base: "./",
  plugins: [react(), copyPdfFiles, languageFiles],
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
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], setupFiles: "src/testing/setup.ts", unstubGlobals: true, testTimeout: 60_000, isolate: false, maxWorkers: "100%" },
});
