/**
 * Sign-ins at an external provider for programs with sign-in pages of their own: a program starts an intent, the browser
 * visits the provider and comes back to the program with a token, and the token opens a session (sessions.ts).
 */
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { operations } from './operation.ts';
import { ANY_ROLE } from './roles.ts';
import { details, exampleDetails, webhookUrl } from './shapes.ts';

/** Names an intent and proves that the browser came back from it. */
export const intentCheck = z
  .object({ idpIntentId: requiredText(200), idpIntentToken: requiredText(200) })
  .meta({ description: 'What the success URL of the intent got as `id` and `token`. A token opens one session.' });

const page = (what: string) =>
  webhookUrl().meta({
    description: `Where the browser goes ${what}. Its origin must be one that the organization allows for links in emails.`,
    examples: ['https://app.acme.example/signed-in'],
  });

/** The body of `POST /v2beta/idp_intents`. */
export const newIntent = z.object({
  idpId: requiredText(200),
  urls: z.object({
    successUrl: page('with `id` and `token`, and with `user` if a user has a link to the account'),
    failureUrl: page('with `id` and `error` if the provider does not say who it is'),
  }),
});

/** The body of `POST /v2beta/idp_intents/{idpIntentId}`. */
export const retrievedIntent = z.object({
  idpIntentToken: requiredText(200).meta({ description: 'What the success URL got as `token`.' }),
});

const idpInformation = z
  .object({
    idpId: z.string(),
    userId: z.string().meta({ description: 'The id of the account at the provider, as links have it.' }),
    userName: z.string(),
    rawInformation: z.record(z.string(), z.unknown()).meta({ description: 'The claims of the provider.' }),
  })
  .meta({ id: 'IdpInformation' });

export const idpIntentOperations = operations({
  startIdpIntent: {
    path: 'POST /v2beta/idp_intents',
    rpc: 'zitadel.user.v2.UserService/StartIdentityProviderIntent',
    who: ANY_ROLE,
    of: 'body',
    orgHeader: true,
    summary: 'Begin a sign-in at an external provider for a page of your own',
    description:
      'Send the browser to `authUrl` within 10 minutes. The sign-in is for users of the organization of the provider; ' +
      'with a provider of the instance, of the organization that `x-service-orgid` names, or else of your own. Put a ' +
      'value that only this browser knows into both URLs and compare it when the browser comes back, so that nobody ' +
      'is signed in with the sign-in of somebody else.',
    body: {
      schema: newIntent,
      error: 'IDP-INTENT-INVALID',
      examples: {
        'a page of an application': {
          idpId: '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11',
          urls: {
            successUrl: 'https://app.acme.example/signed-in?state=5Xb1',
            failureUrl: 'https://app.acme.example/failed?state=5Xb1',
          },
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ details, authUrl: z.string().meta({ format: 'uri' }) }),
        example: {
          details: exampleDetails,
          authUrl: 'https://accounts.google.com/o/oauth2/v2/auth?client_id=4074&response_type=code',
        },
      },
    },
    errors: ['IDP-NOT-FOUND', 'IDP-UNAVAILABLE', 'URL-TEMPLATE-NOT-ALLOWED'],
  },
  retrieveIdpIntent: {
    path: 'POST /v2beta/idp_intents/{idpIntentId}',
    rpc: 'zitadel.user.v2.UserService/RetrieveIdentityProviderIntent',
    who: ANY_ROLE,
    of: 'body',
    summary: 'Read who signed in at an external provider',
    description:
      'Only for who started the intent, for 10 minutes from its start, and until a session is opened with it. ' +
      '`userId` is the user whose link the account has, if one may sign in with it.',
    body: {
      schema: retrievedIntent,
      error: 'IDP-INTENT-INVALID',
      examples: { 'the token': { idpIntentToken: 'bm90IGEgdG9rZW4gb2YgYW55Ym9keQ' } },
    },
    answers: {
      200: {
        schema: z.object({ details, idpInformation, userId: z.string().optional() }),
        example: {
          details: exampleDetails,
          idpInformation: {
            idpId: '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11',
            userId: '110169484474386276334',
            userName: 'bob@gmail.example',
            rawInformation: { sub: '110169484474386276334', email: 'bob@gmail.example', email_verified: true },
          },
          userId: 'bob',
        },
      },
    },
    errors: ['IDP-INTENT-NOT-FOUND', 'IDP-INTENT-TOKEN'],
  },
});
