"""A client of the tests, by psycopg: client.py MODE URI. Modes are described in sql-clients.ts."""
import sys
import psycopg

mode, uri = sys.argv[1:]


def code_of(error):
    return error.sqlstate or "dropped"


if mode == "run":
    with psycopg.connect(uri, autocommit=True) as connection:
        for statement in sys.stdin.read().split(";"):
            try:
                cursor = connection.execute(statement.strip())
                for row in cursor.fetchall() if cursor.description else []:
                    print(row[0])
            except psycopg.Error as error:
                print(code_of(error))
elif mode == "hold":
    with psycopg.connect(uri, autocommit=True) as connection:
        print("connected", flush=True)
        try:
            connection.execute("SELECT pg_sleep(60)")
        except psycopg.Error:
            print("dropped")
else:
    held = []
    try:
        while len(held) < 130:
            held.append(psycopg.connect(uri))
    except psycopg.Error as error:
        # psycopg gives no SQLSTATE for a failed connection.
        print("53300" if "too many clients" in str(error) or "connection slots" in str(error) else str(error))
