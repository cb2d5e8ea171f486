/** Templates of pages; the catalogue of messages uses them too, and stands below this folder. */
export { type Html, html } from '../text/html.ts';
