/** TypeScript to JavaScript: types become spaces, so line numbers in errors stay right; imports name `.js` files. */
import { stripTypeScriptTypes } from 'node:module';

/** Biome formats every import so. */
const IMPORT = /(^(?:import|export|\})[^'\n]* from |^import |\bimport\()'([^'\n]+)'(?=[;)]| with \{)/gm;

/** @returns the code, and what it imports, statically or on demand, without modules of Node.js */
export function transpile(text: string): { code: string; imports: string[] } {
  const imports: string[] = [];
  const code = stripTypeScriptTypes(text).replace(IMPORT, (all, before: string, specifier: string) => {
    if (specifier.startsWith('node:')) return all;
    imports.push(specifier);
    return `${before}'${specifier.replace(/\.ts$/, '.js')}'`;
  });
  return { code, imports };
}
