/** `GET /openapi.json`. Built on the first request, as few API processes ever serve it. */
import { Router } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import { openApiDocument } from './document.ts';

export function openApiRoutes({ config }: { config: { baseUrl: string } }): Router {
  const router = Router();
  let text: string | undefined;
  router.get('/openapi.json', (_req, res) => {
    text ??= JSON.stringify(openApiDocument({ version: packageJson.version, baseUrl: config.baseUrl }));
    res.set('Cache-Control', 'no-cache').type('json').send(text);
  });
  return router;
}
