// A client of the tests, by pgx: client MODE URI. Modes are described in sql-clients.ts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func codeOf(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return "dropped"
}

func main() {
	ctx := context.Background()
	mode, uri := os.Args[1], os.Args[2]
	if mode == "exhaust" {
		// Kept, because Go closes connections that nothing refers to.
		held := []*pgx.Conn{}
		for len(held) < 130 {
			connection, err := pgx.Connect(ctx, uri)
			if err != nil {
				fmt.Println(codeOf(err))
				break
			}
			held = append(held, connection)
		}
		for _, connection := range held {
			connection.Close(ctx)
		}
		return
	}
	connection, err := pgx.Connect(ctx, uri)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if mode == "hold" {
		fmt.Println("connected")
		if _, err := connection.Exec(ctx, "SELECT pg_sleep(60)"); err != nil {
			fmt.Println("dropped")
		}
		return
	}
	text, _ := io.ReadAll(os.Stdin)
	for _, statement := range strings.Split(string(text), ";") {
		rows, _ := connection.Query(ctx, strings.TrimSpace(statement))
		for rows.Next() {
			if values, err := rows.Values(); err == nil {
				fmt.Println(values[0])
			}
		}
		if err := rows.Err(); err != nil {
			fmt.Println(codeOf(err))
		}
	}
}
