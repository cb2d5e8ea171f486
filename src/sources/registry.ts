/** All supported source systems. CONTRIBUTING.md says how to add one. */
import type { ExportFormat } from './source.ts';
import { akamai } from './systems/akamai.ts';
import { appwrite } from './systems/appwrite.ts';
import { aspnet } from './systems/aspnet.ts';
import { auth0 } from './systems/auth0.ts';
import { authelia } from './systems/authelia.ts';
import { authentik } from './systems/authentik.ts';
import { authjs } from './systems/authjs.ts';
import { betterAuth } from './systems/better-auth.ts';
import { casdoor } from './systems/casdoor.ts';
import { clerk } from './systems/clerk.ts';
import { cognito } from './systems/cognito.ts';
import { descope } from './systems/descope.ts';
import { devise } from './systems/devise.ts';
import { discourse } from './systems/discourse.ts';
import { django } from './systems/django.ts';
import { drupal } from './systems/drupal.ts';
import { entra } from './systems/entra.ts';
import { firebase } from './systems/firebase.ts';
import { forgerock } from './systems/forgerock.ts';
import { frontegg } from './systems/frontegg.ts';
import { fusionauth } from './systems/fusionauth.ts';
import { joomla } from './systems/joomla.ts';
import { keycloak } from './systems/keycloak.ts';
import { kratos } from './systems/kratos.ts';
import { laravel } from './systems/laravel.ts';
import { ldif } from './systems/ldif.ts';
import { logto } from './systems/logto.ts';
import { csv, ndjson } from './systems/mapped.ts';
import { okta } from './systems/okta.ts';
import { passport } from './systems/passport.ts';
import { phpbb } from './systems/phpbb.ts';
import { pingone } from './systems/pingone.ts';
import { pocketbase } from './systems/pocketbase.ts';
import { scim } from './systems/scim.ts';
import { spring } from './systems/spring.ts';
import { stytch } from './systems/stytch.ts';
import { supabase } from './systems/supabase.ts';
import { supertokens } from './systems/supertokens.ts';
import { wordpress } from './systems/wordpress.ts';
import { workos } from './systems/workos.ts';
import { zitadel } from './systems/zitadel.ts';

export const SOURCES: readonly ExportFormat[] = [
  akamai,
  appwrite,
  aspnet,
  auth0,
  authelia,
  authentik,
  authjs,
  betterAuth,
  casdoor,
  clerk,
  cognito,
  csv,
  descope,
  devise,
  discourse,
  django,
  drupal,
  entra,
  firebase,
  forgerock,
  frontegg,
  fusionauth,
  joomla,
  keycloak,
  kratos,
  laravel,
  ldif,
  logto,
  ndjson,
  okta,
  passport,
  phpbb,
  pingone,
  pocketbase,
  scim,
  spring,
  stytch,
  supabase,
  supertokens,
  wordpress,
  workos,
  zitadel,
];
