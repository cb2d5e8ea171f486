/**
 * `GET /docs`: the OpenAPI document to look at, in Swagger UI.
 *
 * Guarantee: everything comes from this service; a policy forbids the page any other place, and scripts and styles that are
 * not files of ours.
 */
import { fileURLToPath } from 'node:url';
import { type Response, Router } from 'express';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API documentation</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** Swagger UI would have its own service judge the document unless it is told not to. */
const START = `window.ui = SwaggerUIBundle({
  url: '/openapi.json', dom_id: '#docs', deepLinking: true, docExpansion: 'list', filter: true, validatorUrl: null,
  defaultModelsExpandDepth: 0, tryItOutEnabled: false, persistAuthorization: false,
});
`;

const FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const;

export function docsRoutes(): Router {
  const router = Router();
  router.get('/docs', (_req, res) => {
    res.set({ 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-cache' });
    res.set('X-Content-Type-Options', 'nosniff').type('html').send(PAGE);
  });
  router.get('/docs/start.js', (_req, res) => {
    mayBeKept(res).type('js').send(START);
  });
  for (const file of FILES) {
    const path = fileURLToPath(import.meta.resolve(`swagger-ui-dist/${file}`));
    // The folder may be a dotted one somewhere above.
    router.get(`/docs/${file}`, (_req, res) => {
      mayBeKept(res).sendFile(path, { cacheControl: false, dotfiles: 'allow' });
    });
  }
  return router;
}

/** For a day: they change with a release. */
function mayBeKept(res: Response): Response {
  return res.set({ 'Cache-Control': 'public, max-age=86400', 'X-Content-Type-Options': 'nosniff' });
}
