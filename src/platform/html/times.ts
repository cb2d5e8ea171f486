/** The script that shows the times of a page in the zone of the browser, for the console and for `/account`. */
import type { Router } from 'express';
import { assetUrl, openAssets } from './assets.ts';

const FOLDER = new URL('./browser/', import.meta.url);
const PATH = '/ui/times';

/** Serves the script. */
export function timesRoutes(): Router {
  return openAssets(FOLDER, PATH, PATH, 'PAGE-ASSET').routes;
}

/** The address of the script; the public address may have a path of its own. */
export function timesScript(baseUrl: string): string {
  return assetUrl(FOLDER, new URL(baseUrl).pathname.replace(/\/$/, '') + PATH, 'local-times.ts');
}
