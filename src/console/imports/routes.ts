/** The screens of imports: the list, and one import. */
import { Router } from 'express';
import { html } from '../../html.ts';
import type { ScreenDeps } from '../deps.ts';
import { FRAME } from '../texts.ts';

export function importScreens({ show }: ScreenDeps): Router {
  const router = Router();
  router.get('/console/imports', (req, res) => {
    show(req, res, { title: FRAME.imports, body: html`<h1>${FRAME.imports}</h1>` });
  });
  return router;
}
