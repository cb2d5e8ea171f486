import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import { buildApp } from '../../src/start/app.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { type Json, type Judge, openJudge } from './judge.ts';
import { routesOf } from './routes.ts';

/** Pages for people, the requests between them, and files that browsers request on their own. */
const PAGES = [
  /^\w+ \/(?:ui|docs)\//,
  /^\w+ \/account(?:\/|$)/,
  /^\w+ \/(?:console(?:\/.*)?)?$/,
  /^OPTIONS /,
  /^GET \/oauth\/v2\/authorize\/\{uid\}$/,
  /^GET \/oidc\/v1\/end_session\/success$/,
  /^POST \/oidc\/v1\/end_session\/confirm$/,
  // Other names of operations.
  /^POST \/zitadel\./,
  /^GET \/\.well-known\/(?:change-password|webauthn)$/,
];

describe('the OpenAPI document', () => {
  let api: TestApi;
  let document: Json;
  let judge: Judge;

  before(async () => {
    api = await startApi();
    document = (await api.call('GET', '/openapi.json', undefined, { token: null })).body;
    judge = openJudge(document);
  });
  after(() => api.stop());

  it('is a valid OpenAPI 3.1 document', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors));
    assert.match(document.openapi, /^3\.1\./);
    assert.equal(document.servers[0].url, api.url);
    assert.match(document.info.version, /^\d+\.\d+\.\d+/);
  });

  it('lists exactly the mounted routes', () => {
    const mounted = new Set(routesOf(buildApp(api.deps).router));
    const documented = judge.operations.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(documented.sort(), [...mounted].filter((route) => !PAGES.some((page) => page.test(route))).sort());
  });

  it('names each operation once, as in the table of permissions', () => {
    const ids = judge.operations.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const missing = Object.keys(PERMISSIONS).filter((id) => !ids.includes(id));
    assert.deepEqual(missing, []);
  });

  it('names the required role of each operation', () => {
    const described = (id: string) => judge.operations.find((o) => o.id === id)?.object;
    assert.match(described('lockUser').description, /Required role: IAM_OWNER, ORG_OWNER, ORG_USER_MANAGER\.$/);
    assert.match(described('setUpOrg').description, /Required role: IAM_OWNER\.$/);
    assert.match(
      described('setPassword').description,
      / Users need no role to call it for themselves\. A caller with a valid code needs no token\.$/,
    );
    assert.deepEqual(described('setPassword').security, [{ bearer: [] }, {}]);
    assert.deepEqual(Object.keys(document.components.securitySchemes).sort(), ['bearer', 'oauth2']);
  });

  it('describes no two operations alike', () => {
    const summaries = judge.operations.map(({ object }) => object.summary);
    assert.deepEqual(
      summaries.filter((summary, i) => summaries.indexOf(summary) !== i),
      [],
    );
  });

  it('names the error of the last owner where it can occur', () => {
    const named = judge.operations.filter(({ object }) => /MEMBER-LAST-OWNER/.test(object.responses[400]?.description));
    assert.deepEqual(named.map(({ id }) => id).sort(), [
      'deactivateOrg',
      'deactivateUser',
      'deleteOrg',
      'deleteUser',
      'eraseUser',
      'lockUser',
      'removeInstanceMember',
      'removeKey',
      'removePat',
      'removeSecret',
    ]);
  });

  it('has examples that match their schemas', () => {
    const problems = judge.operations.flatMap(({ id, path, method, object }) => {
      const at = ['paths', path, method.toLowerCase()];
      return [
        ...exampleProblems(object.requestBody?.content, [...at, 'requestBody', 'content']),
        ...Object.entries<Json>(object.responses).flatMap(([status, response]) =>
          exampleProblems(response.content, [...at, 'responses', status, 'content']),
        ),
      ].map((problem) => `${id}: ${problem}`);
    });
    for (const [name, response] of Object.entries<Json>(document.components.responses)) {
      problems.push(...exampleProblems(response.content, ['components', 'responses', name, 'content']));
    }
    assert.deepEqual(problems, []);
  });

  it('has an example for every JSON body, request and response', () => {
    const calls = judge.operations.filter(({ id }) => Object.hasOwn(PERMISSIONS, id));
    const lacking = calls.filter(({ object }) => {
      const media = [object.requestBody, ...Object.values<Json>(object.responses)].flatMap((part) =>
        Object.values<Json>(part?.content ?? {}),
      );
      return media.some(({ example, examples }) => example === undefined && !Object.keys(examples ?? {}).length);
    });
    assert.deepEqual(lacking, []);
  });

  it('shows the limits that the code checks', () => {
    const setUp = document.paths['/admin/v1/orgs/_setup'].post.requestBody.content['application/json'].schema;
    const { human, org } = setUp.properties;
    assert.equal(org.properties.name.maxLength, 200);
    assert.equal(human.properties.email.properties.email.format, 'idn-email');
    assert.equal(human.properties.profile.properties.preferredLanguage.maxLength, 10);
    assert.deepEqual(human.properties.profile.required, ['firstName', 'lastName']);
  });

  it('describes ids in a path as the code checks them', () => {
    for (const name of ['orgId', 'userId', 'importId']) {
      const { schema, ...parameter } = document.components.parameters[name];
      assert.deepEqual(parameter, { name, in: 'path', required: true });
      assert.deepEqual(Object.keys(schema).sort(), ['examples', 'maxLength', 'minLength', 'not', 'pattern', 'type']);
    }
  });

  it('gives generated clients a type for values that can be null', () => {
    const { ImportUser, ImportResult, ImportProgress } = document.components.schemas;
    assert.equal(ImportUser.properties.requestPasswordlessRegistration.type, 'boolean');
    assert.equal(ImportUser.properties.requestPasswordlessRegistration.enum, undefined);
    for (const { eta } of [ImportResult.properties, ImportProgress.properties]) {
      assert.deepEqual(eta.type, ['string', 'null']);
      assert.equal(eta.anyOf, undefined);
    }
  });

  function exampleProblems(content: Json, pointer: string[]): string[] {
    return Object.entries<Json>(content ?? {}).flatMap(([type, { example, examples }]) => {
      const values = Object.values<Json>(examples ?? {}).map(({ value }) => value);
      if (example !== undefined) values.push(example);
      return values.flatMap((value) => judge.shapeProblems([...pointer, type, 'schema'], value));
    });
  }
});
