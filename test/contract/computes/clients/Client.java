// A client of the tests, by JDBC: Client MODE URI. Modes are described in sql-clients.ts.
import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

public class Client {
  static Connection connect(URI uri) throws SQLException {
    String[] user = uri.getUserInfo().split(":", 2);
    Properties properties = new Properties();
    properties.setProperty("user", user[0]);
    properties.setProperty("password", user[1]);
    for (String pair : uri.getQuery().split("&")) {
      String[] parts = pair.split("=", 2);
      properties.setProperty(parts[0], parts[1]);
    }
    return DriverManager.getConnection(
        "jdbc:postgresql://" + uri.getHost() + ":" + uri.getPort() + uri.getPath(), properties);
  }

  static String codeOf(SQLException error) {
    return error.getSQLState() == null || error.getSQLState().startsWith("08") ? "dropped" : error.getSQLState();
  }

  public static void main(String[] arguments) throws Exception {
    URI uri = URI.create(arguments[1]);
    if (arguments[0].equals("exhaust")) {
      List<Connection> held = new ArrayList<>();
      try {
        while (held.size() < 130) held.add(connect(uri));
      } catch (SQLException error) {
        System.out.println(codeOf(error));
      }
      return;
    }
    try (Connection connection = connect(uri); Statement statement = connection.createStatement()) {
      if (arguments[0].equals("hold")) {
        System.out.println("connected");
        try {
          statement.execute("SELECT pg_sleep(60)");
        } catch (SQLException error) {
          System.out.println("dropped");
        }
        return;
      }
      for (String sql : new String(System.in.readAllBytes()).split(";")) {
        try {
          if (!statement.execute(sql)) continue;
          ResultSet rows = statement.getResultSet();
          while (rows.next()) System.out.println(rows.getString(1));
        } catch (SQLException error) {
          System.out.println(codeOf(error));
        }
      }
    }
  }
}
