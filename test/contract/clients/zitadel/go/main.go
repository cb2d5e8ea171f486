// Calls the service by ZITADEL's published client. Arguments: address, token, id of a provider. Prints as JSON each call
// that failed.
//
// The client speaks gRPC over HTTP/2, which the service does not: its services and messages are used as they are
// published, over a connection that sends each call as JSON (Connect).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/zitadel/zitadel-go/v3/pkg/client/zitadel/object/v2"
	"github.com/zitadel/zitadel-go/v3/pkg/client/zitadel/org/v2"
	"github.com/zitadel/zitadel-go/v3/pkg/client/zitadel/session/v2"
	"github.com/zitadel/zitadel-go/v3/pkg/client/zitadel/user/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// connection is what the clients call, instead of one of gRPC.
type connection struct{ url, token string }

func (c connection) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	body, err := protojson.Marshal(args.(proto.Message))
	if err != nil {
		return err
	}
	answer, err := c.send(ctx, http.MethodPost, method, body)
	if err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(answer, reply.(proto.Message))
}

// send returns the body of an answer that is a success. The metadata of a call are headers here.
func (c connection) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Connect-Protocol-Version", "1")
	request.Header.Set("Authorization", "Bearer "+c.token)
	given, _ := metadata.FromOutgoingContext(ctx)
	for name, values := range given {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = failure(answer)
	}
	return answer, err
}

func (connection) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

// failure reads an error of the Connect protocol.
func failure(answer []byte) error {
	var shown struct{ Code, Message string }
	if err := json.Unmarshal(answer, &shown); err != nil {
		return err
	}
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(`"` + strings.ToUpper(shown.Code) + `"`)); err != nil {
		return err
	}
	return status.Error(code, shown.Message)
}

var failed = map[string]string{}

// try returns the answer of a call, or an empty one.
func try[T any](name string, answer *T, err error) *T {
	if err == nil {
		return answer
	}
	failed[name] = err.Error()
	return new(T)
}

func expect(what string, right bool) {
	if !right {
		failed[what] = "is not so"
	}
}

func main() {
	ctx := context.Background()
	conn := connection{os.Args[1], os.Args[2]}
	organization := firstOrganization(ctx, conn)
	userId, loginName := people(ctx, user.NewUserServiceClient(conn), organization)
	sessions(ctx, session.NewSessionServiceClient(conn), loginName)
	intents(metadata.AppendToOutgoingContext(ctx, "x-zitadel-orgid", organization), conn, userId, os.Args[3])
	states(ctx, user.NewUserServiceClient(conn), userId)
	json.NewEncoder(os.Stdout).Encode(failed)
}

func firstOrganization(ctx context.Context, conn connection) string {
	organizations := org.NewOrganizationServiceClient(conn)
	found, err := organizations.ListOrganizations(ctx, &org.ListOrganizationsRequest{Query: &object.ListQuery{Limit: 1}})
	list := try("ListOrganizations", found, err).GetResult()
	expect("an organization", len(list) == 1)
	if len(list) == 0 {
		return ""
	}
	return list[0].GetId()
}

const password = "correct horse battery"

func people(ctx context.Context, users user.UserServiceClient, organization string) (string, string) {
	name := "gopher"
	made, err := users.AddHumanUser(ctx, &user.AddHumanUserRequest{
		Username:     &name,
		Organization: &object.Organization{Org: &object.Organization_OrgId{OrgId: organization}},
		Profile:      &user.SetHumanProfile{GivenName: "Go", FamilyName: "Pher"},
		Email:        &user.SetHumanEmail{Email: "go@names.example", Verification: &user.SetHumanEmail_ReturnCode{ReturnCode: &user.ReturnEmailVerificationCode{}}},
		PasswordType: &user.AddHumanUserRequest_Password{Password: &user.Password{Password: password}},
	})
	userId := try("AddHumanUser", made, err).GetUserId()
	verified, err := users.VerifyEmail(ctx, &user.VerifyEmailRequest{UserId: userId, VerificationCode: made.GetEmailCode()})
	try("VerifyEmail", verified, err)
	shown, err := users.GetUserByID(ctx, &user.GetUserByIDRequest{UserId: userId})
	one := try("GetUserByID", shown, err).GetUser()
	expect("the user", one.GetState() == user.UserState_USER_STATE_ACTIVE && one.GetHuman().GetEmail().GetIsVerified())
	listed, err := users.ListUsers(ctx, &user.ListUsersRequest{
		Query:   &object.ListQuery{Offset: 0, Limit: 10},
		Queries: []*user.SearchQuery{{Query: &user.SearchQuery_UserNameQuery{UserNameQuery: &user.UserNameQuery{UserName: name}}}},
	})
	expect("the list", len(try("ListUsers", listed, err).GetResult()) == 1)
	reset, err := users.PasswordReset(ctx, &user.PasswordResetRequest{UserId: userId, Medium: &user.PasswordResetRequest_ReturnCode{ReturnCode: &user.ReturnPasswordResetCode{}}})
	code := try("PasswordReset", reset, err).GetVerificationCode()
	set, err := users.SetPassword(ctx, &user.SetPasswordRequest{
		UserId:       userId,
		NewPassword:  &user.Password{Password: password},
		Verification: &user.SetPasswordRequest_VerificationCode{VerificationCode: code},
	})
	try("SetPassword", set, err)
	return userId, one.GetPreferredLoginName()
}

func sessions(ctx context.Context, sessions session.SessionServiceClient, loginName string) {
	made, err := sessions.CreateSession(ctx, &session.CreateSessionRequest{Checks: &session.Checks{
		User:     &session.CheckUser{Search: &session.CheckUser_LoginName{LoginName: loginName}},
		Password: &session.CheckPassword{Password: password},
	}})
	id := try("CreateSession", made, err).GetSessionId()
	shown, err := sessions.GetSession(ctx, &session.GetSessionRequest{SessionId: id})
	factors := try("GetSession", shown, err).GetSession().GetFactors()
	expect("the session", factors.GetPassword().GetVerifiedAt() != nil && factors.GetUser().GetLoginName() == loginName)
	ended, err := sessions.DeleteSession(ctx, &session.DeleteSessionRequest{SessionId: id})
	try("DeleteSession", ended, err)
}

// ownPages is where the program's pages are; nothing runs there.
const ownPages = "https://go.names.example"

// intents signs the user in with a linked account at a provider, on a page of the program's own, for the organization
// that the context names.
func intents(ctx context.Context, conn connection, userId, idpId string) {
	_, err := conn.send(ctx, http.MethodPut, "/management/v1/orgs/me/allowed_urls", []byte(`{"allowedUrls": ["`+ownPages+`"]}`))
	if err != nil {
		failed["the allowed URLs"] = err.Error()
	}
	users := user.NewUserServiceClient(conn)
	linked, err := users.AddIDPLink(ctx, &user.AddIDPLinkRequest{UserId: userId, IdpLink: &user.IDPLink{IdpId: idpId, UserId: "7001", UserName: "cora"}})
	try("AddIDPLink", linked, err)
	list, err := users.ListIDPLinks(ctx, &user.ListIDPLinksRequest{UserId: userId})
	links := try("ListIDPLinks", list, err).GetResult()
	expect("the link", len(links) == 1 && links[0].GetIdpId() == idpId && links[0].GetUserId() == "7001")
	started, err := users.StartIdentityProviderIntent(ctx, &user.StartIdentityProviderIntentRequest{
		IdpId: idpId,
		Content: &user.StartIdentityProviderIntentRequest_Urls{Urls: &user.RedirectURLs{
			SuccessUrl: ownPages + "/done", FailureUrl: ownPages + "/failed",
		}},
	})
	back := comeBack(try("StartIdentityProviderIntent", started, err).GetAuthUrl())
	expect("the success URL", back.Host == "go.names.example" && back.Path == "/done" && back.Query().Get("user") == userId)
	id, token := back.Query().Get("id"), back.Query().Get("token")
	told, err := users.RetrieveIdentityProviderIntent(ctx, &user.RetrieveIdentityProviderIntentRequest{IdpIntentId: id, IdpIntentToken: token})
	intent := try("RetrieveIdentityProviderIntent", told, err)
	expect("the intent", intent.GetUserId() == userId && intent.GetIdpInformation().GetUserId() == "7001")
	made, err := session.NewSessionServiceClient(conn).CreateSession(ctx, &session.CreateSessionRequest{Checks: &session.Checks{
		User:      &session.CheckUser{Search: &session.CheckUser_UserId{UserId: userId}},
		IdpIntent: &session.CheckIDPIntent{IdpIntentId: id, IdpIntentToken: token},
	}})
	expect("the session by an intent", try("CreateSession by an intent", made, err).GetSessionToken() != "")
	opened := made.GetSessionId()
	shown, err := session.NewSessionServiceClient(conn).GetSession(ctx, &session.GetSessionRequest{SessionId: opened})
	expect("the factor", try("GetSession of an intent", shown, err).GetSession().GetFactors().GetIntent().GetVerifiedAt() != nil)
	removed, err := users.RemoveIDPLink(ctx, &user.RemoveIDPLinkRequest{UserId: userId, IdpId: idpId, LinkedUserId: "7001"})
	try("RemoveIDPLink", removed, err)
}

// comeBack visits the provider as a browser does, and returns where it sends the browser on the way back to the program.
func comeBack(authUrl string) *url.URL {
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	next := authUrl + "&login_hint=cora"
	for hops := 0; hops < 2; hops++ {
		response, err := browser.Get(next)
		if err != nil {
			failed["the way back"] = err.Error()
			return &url.URL{}
		}
		response.Body.Close()
		next = response.Header.Get("Location")
	}
	at, err := url.Parse(next)
	if err != nil {
		failed["the way back"] = err.Error()
		return &url.URL{}
	}
	return at
}

func states(ctx context.Context, users user.UserServiceClient, userId string) {
	deactivated, err := users.DeactivateUser(ctx, &user.DeactivateUserRequest{UserId: userId})
	try("DeactivateUser", deactivated, err)
	reactivated, err := users.ReactivateUser(ctx, &user.ReactivateUserRequest{UserId: userId})
	try("ReactivateUser", reactivated, err)
	locked, err := users.LockUser(ctx, &user.LockUserRequest{UserId: userId})
	try("LockUser", locked, err)
	unlocked, err := users.UnlockUser(ctx, &user.UnlockUserRequest{UserId: userId})
	try("UnlockUser", unlocked, err)
	deleted, err := users.DeleteUser(ctx, &user.DeleteUserRequest{UserId: userId})
	try("DeleteUser", deleted, err)
	_, err = users.GetUserByID(ctx, &user.GetUserByIDRequest{UserId: userId})
	expect("nobody is found", status.Code(err) == codes.NotFound)
	if err == nil {
		fmt.Fprintln(os.Stderr, "found")
	}
}
