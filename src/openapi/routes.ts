/** `GET /openapi.json`. Made when it is first asked for: of the processes that serve the API few ever are. */
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
