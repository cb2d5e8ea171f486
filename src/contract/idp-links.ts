/** Links of users to their accounts at identity providers, and the operations that list, add and remove them. */
import { z } from 'zod';
import { id, text } from '../platform/fields.ts';
import { paging } from '../platform/http/answers.ts';
import { operations } from './operation.ts';
import { ANY_ROLE_OR_SELF, MANAGER, MANAGER_OR_SELF } from './roles.ts';
import { changed, exampleSearch, OWNER_PROOF, ownerProof, proofBody, searchAnswer } from './shapes.ts';

const link = z
  .object({
    idpId: z.string().meta({ description: 'The provider, under the name that the link was made or imported with.' }),
    userId: z.string().meta({ description: 'The id of the user at the provider.' }),
    userName: z.string(),
    provider: z
      .object({ idpId: z.string(), name: z.string() })
      .optional()
      .meta({ description: 'The enabled provider that the link belongs to. Absent: nobody signs in with the link.' }),
    isHeldTwice: z.literal(true).optional().meta({
      description: 'Another user of the organization has the same account, so neither signs in with it.',
    }),
  })
  .meta({ id: 'UserLink' });

/** A new link; users who link an account to themselves prove that the account here is theirs. */
const newLink = ownerProof.extend({
  idpLink: z.object({ idpId: id(), userId: id(), userName: text(200).default('') }),
});

const linkSearch = z.object({ query: paging() });

const LINKS = {
  200: {
    schema: searchAnswer(link),
    example: exampleSearch({
      idpId: 'google-oauth2',
      userId: '1157',
      userName: 'Bob',
      provider: { idpId: 'google', name: 'Google' },
    }),
  },
} as const;

export const idpLinkOperations = operations({
  getUserLinks: {
    path: 'GET /v2beta/users/{userId}/links',
    who: ANY_ROLE_OR_SELF,
    of: 'user',
    summary: 'Get the identity provider links of a user',
    answers: LINKS,
  },
  searchUserLinks: {
    path: 'POST /v2beta/users/{userId}/links/_search',
    rpc: 'zitadel.user.v2.UserService/ListIDPLinks',
    who: ANY_ROLE_OR_SELF,
    of: 'user',
    summary: 'Search the identity provider links of a user',
    description: 'As `getUserLinks`, in pages and under the name that ZITADEL gives it.',
    body: {
      schema: linkSearch,
      error: 'IDP-LINK-INVALID',
      examples: { 'first ten': { query: { limit: 10 } } },
    },
    answers: LINKS,
  },
  addUserLink: {
    path: 'POST /v2beta/users/{userId}/links',
    rpc: 'zitadel.user.v2.UserService/AddIDPLink',
    who: MANAGER,
    of: 'user',
    tries: 'by-body',
    summary: 'Link an account at an identity provider to a user',
    description:
      'The user can then sign in with the account, if the provider is set up. `idpId` is the id of the provider, or one ' +
      'of its aliases; `userId` is the id of the account there. The user gets an email that says so. Users link their ' +
      `own accounts on a page, where the provider confirms who they are. ${OWNER_PROOF}`,
    body: {
      schema: newLink,
      error: 'IDP-LINK-INVALID',
      examples: { 'an account': { idpLink: { idpId: 'google', userId: '104711', userName: 'bob@gmail.example' } } },
    },
    answers: { 200: changed },
    errors: [
      'IDP-LINK-HELD',
      'USER-NOT-HUMAN',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
  removeUserLink: {
    path: 'DELETE /v2beta/users/{userId}/links/{idpId}/{linkedUserId}',
    rpc: 'zitadel.user.v2.UserService/RemoveIDPLink',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove a link of a user',
    description:
      '`idpId` is the name that the link has, or the id of its provider. The user gets an email that says so. Users ' +
      `cannot remove their last way to sign in. ${OWNER_PROOF}`,
    body: { ...proofBody, error: 'IDP-LINK-INVALID' },
    answers: { 200: changed },
    errors: [
      'IDP-LINK-NOT-FOUND',
      'IDP-LINK-LAST-WAY',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
});
