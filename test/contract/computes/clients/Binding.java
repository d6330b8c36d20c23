// An application of the tests that has the environment of a pod: Binding URL USER PASSWORD [PROPERTY=VALUE]..., the first three being
// names of environment variables. It prints role and database, or the SQLSTATE of the refusal.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;

public class Binding {
  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("user", System.getenv(arguments[1]));
    properties.setProperty("password", System.getenv(arguments[2]));
    for (int at = 3; at < arguments.length; at += 1) {
      String[] parts = arguments[at].split("=", 2);
      properties.setProperty(parts[0], parts[1]);
    }
    try (Connection connection = DriverManager.getConnection(System.getenv(arguments[0]), properties)) {
      ResultSet rows = connection.createStatement().executeQuery("SELECT current_user, current_database()");
      rows.next();
      System.out.println(rows.getString(1) + " " + rows.getString(2));
    } catch (SQLException error) {
      System.out.println(error.getSQLState());
    }
  }
}
