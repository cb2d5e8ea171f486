/** Routers that are passed over for paths that are not theirs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import express, { type RequestHandler, Router } from 'express';
import { allowedMethods, routed } from '../../../src/platform/http/methods.ts';

/** An application whose router counts how often it is asked. */
async function open(fill: (router: Router) => void) {
  const router = Router();
  fill(router);
  let asked = 0;
  const { handle } = router as unknown as { handle: RequestHandler };
  const counted: RequestHandler = (...call) => {
    asked += 1;
    return handle.apply(router, call);
  };
  Object.assign(router, { handle: counted });
  const app = express();
  app.use(routed(router));
  app.use((_req, res) => res.status(404).json('none'));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return {
    app,
    get: async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).json(),
    asked: () => asked,
    [Symbol.dispose]: () => server.close(),
  };
}

test('a path of another router is passed over', async () => {
  using service = await open((router) => {
    router.get('/v1/things/:id', (req, res) => void res.json(`thing ${req.params.id}`));
    router.use(Router().get('/v1/others/_search', (_req, res) => void res.json('others')));
    router.use('/pages', (_req, res) => void res.json('page'));
    router.get(['/a', '/b/:rest/c'], (_req, res) => void res.json('list'));
  });
  for (const path of ['/', '/v1', '/v1/thing', '/v1/thingsome/1', '/other/things/1', '/pagesome', '/v1/others']) {
    assert.equal(await service.get(path), 'none', path);
  }
  assert.equal(service.asked(), 0);
  assert.equal(await service.get('/v1/things/1'), 'thing 1');
  assert.equal(await service.get('/V1/Things/1/?q=/pages'), 'thing 1');
  assert.equal(await service.get('/v1/others/_search'), 'others');
  assert.equal(await service.get('/pages/any/where'), 'page');
  assert.equal(await service.get('/a/'), 'list');
  assert.equal(await service.get('/b/x/c'), 'list');
  assert.equal(service.asked(), 6);
  assert.deepEqual(allowedMethods(service.app.router, '/v1/things/1'), ['GET', 'HEAD', 'OPTIONS']);
});

test('a router that answers any path is always asked', async () => {
  for (const fill of [
    (router: Router) => router.use((_req, res) => void res.json('any')),
    (router: Router) => router.get('/:name', (_req, res) => void res.json('any')),
    (router: Router) => router.get(/^\/x/, (_req, res) => void res.json('any')),
    (router: Router) => router.use(Router().get('/*rest', (_req, res) => void res.json('any'))),
  ]) {
    using service = await open(fill);
    assert.equal(await service.get('/x'), 'any');
  }
});
